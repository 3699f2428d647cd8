import Fulfillment

/// The reason to park a submission, and the time of its next try.
struct ParkingPlan: Sendable {
    let reason: ParkingReason
    /// A word or a sentence for an operator, without secrets; nil if the reason says enough.
    let detail: String?
    var history: WaitingHistory
    /// The seconds from parking the submission to its next try.
    let dueAfterSeconds: Double

    /// - Parameter judgement: the judgement of the last try; nil if the submission was not tried.
    init(_ reason: ParkingReason, after judgement: Judgement?, _ history: WaitingHistory, dueAfterSeconds: Double) {
        self.init(reason, detail: judgement?.parkingDetail, history, dueAfterSeconds: dueAfterSeconds)
    }

    private init(_ reason: ParkingReason, detail: String?, _ history: WaitingHistory, dueAfterSeconds: Double) {
        self.reason = reason
        self.detail = detail
        self.history = history
        self.dueAfterSeconds = dueAfterSeconds
    }

    /// Returns the plan for a record that killed its workers in isolation.
    static func lastTry(_ history: WaitingHistory) -> ParkingPlan {
        ParkingPlan(
            .crashed,
            detail: "the process died \(CrashHistory.deathsOfPoison) times while only this submission was in flight",
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
