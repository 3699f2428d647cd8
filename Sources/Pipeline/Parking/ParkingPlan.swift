import Fulfillment

/// The reason why a submission is parked, and the time of its next try.
struct ParkingPlan: Sendable {
    let reason: ParkingReason
    /// A word or a sentence for the operator; nil if the reason says all. It holds no secret.
    let detail: String?
    var history: WaitingHistory
    /// The seconds until its next try, from the moment at which it is parked.
    let dueAfterSeconds: Double

    /// - Parameter judgement: the judgement of the last try; nil if there was none.
    init(_ reason: ParkingReason, after judgement: Judgement?, _ history: WaitingHistory, dueAfterSeconds: Double) {
        self.init(reason, detail: judgement?.parkingDetail, history, dueAfterSeconds: dueAfterSeconds)
    }

    private init(_ reason: ParkingReason, detail: String?, _ history: WaitingHistory, dueAfterSeconds: Double) {
        self.reason = reason
        self.detail = detail
        self.history = history
        self.dueAfterSeconds = dueAfterSeconds
    }

    /// Makes the plan of a record that its workers died of in isolation.
    static func lastTry(_ history: WaitingHistory) -> ParkingPlan {
        ParkingPlan(
            .crashed, detail: "the process died \(CrashHistory.deathsOfPoison) times while only this one was in flight",
            history, dueAfterSeconds: ParkingPolicy.lastTrySeconds)
    }
}

extension Judgement {
    fileprivate var parkingDetail: String? {
        switch self {
        case .undecided(let trouble): trouble.kind.rawValue
        case .doubtful(let reason): reason.rawValue
        case .blocked, .decided, .needs: nil
        }
    }
}
