import Fulfillment

/// Why a submission is parked, and until when.
struct ParkingPlan: Sendable {
    let reason: ParkingReason
    /// One word for the operator; holds no secret.
    let detail: String?
    var history: WaitingHistory
    /// Until its next try, from the moment at which it is parked.
    let dueAfterSeconds: Double

    /// - Parameter judgement: of the last try, nil where there was none.
    init(_ reason: ParkingReason, after judgement: Judgement?, _ history: WaitingHistory, dueAfterSeconds: Double) {
        self.reason = reason
        detail = judgement?.parkingDetail
        self.history = history
        self.dueAfterSeconds = dueAfterSeconds
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
