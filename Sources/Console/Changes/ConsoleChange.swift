enum ConsoleChange: String, Sendable, CaseIterable {
    case release
    case rejectHeld = "reject-held"
    case retry
    case rejectParked = "reject-parked"
    case retryUnclaimed = "retry-unclaimed"
    case revoke
    case reinstate

    var title: String {
        switch self {
        case .release: "Release"
        case .rejectHeld, .rejectParked: "Reject"
        case .retry, .retryUnclaimed: "Retry"
        case .revoke: "Revoke"
        case .reinstate: "Reinstate"
        }
    }

    /// Returns the question to which the operator answers yes.
    /// - Parameter count: the number of rows.
    func question(_ count: Int) -> String {
        let held = count == 1 ? "1 held transaction" : "\(count) held transactions"
        let parked = count == 1 ? "1 parked submission" : "\(count) parked submissions"
        let unclaimed = count == 1 ? "1 unclaimed purchase" : "\(count) unclaimed purchases"
        return switch self {
        case .release: "Release \(held)?"
        case .rejectHeld: "Reject \(held) for good?"
        case .retry: "Retry \(parked) now?"
        case .rejectParked: "Reject \(parked) for good?"
        case .retryUnclaimed: "Retry \(unclaimed) now?"
        case .revoke: "Take this purchase back from its player?"
        case .reinstate: "Give this purchase back to its player?"
        }
    }

    var consequence: String {
        switch self {
        case .release:
            """
            The release waives this reason. A worker asks Apple again and applies all other rules. If no rule stops \
            the purchase, the player gets it.
            """
        case .rejectHeld, .rejectParked:
            "The player gets nothing. For each, the game gets receipt.rejected with the reason refused_by_operator."
        case .retry: "A worker tries each submission within seconds."
        case .retryUnclaimed:
            """
            A worker tries each purchase within seconds, also one that crashed a worker. Each purchase may stay \
            unclaimed.
            """
        case .revoke:
            "The game gets receipt.revoked with the reason revoked_by_operator, and takes the purchase from the player."
        case .reinstate: "The game gets receipt.reinstated and gives the purchase back, unless Apple has refunded it."
        }
    }

    var isFinal: Bool { self == .rejectHeld || self == .rejectParked || self == .revoke }

    /// True if the console makes the change only while the filter selects the same rows as before. A retry of parked
    /// submissions needs no such check, because a retry does no harm to a newer row. Also, workers change the list of
    /// parked submissions all the time.
    var needsSameSet: Bool {
        switch self {
        case .release, .rejectHeld, .rejectParked, .retryUnclaimed: true
        case .retry, .revoke, .reinstate: false
        }
    }

    /// The name of the list with the rows of the change.
    var list: String {
        switch self {
        case .release, .rejectHeld: "held"
        case .retry, .rejectParked: "parked"
        case .retryUnclaimed: "unclaimed"
        case .revoke, .reinstate: "search"
        }
    }

    var takesFilter: Bool { self != .revoke && self != .reinstate }

    /// The sentence that says how to undo the change, or that the operator cannot undo it.
    var undoing: String {
        switch self {
        case .release: "You can still reject it until a worker has decided. After that, Revoke takes the purchase back."
        case .rejectHeld, .rejectParked: "You cannot undo a rejection: the game learns that it is final."
        case .retry: "There is nothing to undo: a retry alone changes nothing."
        case .retryUnclaimed: "To take a delivered purchase back, revoke it."
        case .revoke: "Reinstate undoes it."
        case .reinstate: "Revoke undoes it."
        }
    }
}
