/// An operator's action in the console.
enum ConsoleChange: String, Sendable, CaseIterable {
    case release
    case rejectHeld = "reject-held"
    case retry
    case rejectParked = "reject-parked"
    case retryUnclaimed = "retry-unclaimed"
    case revoke
    case reinstate

    /// The words on a button.
    var title: String {
        switch self {
        case .release: "Release"
        case .rejectHeld, .rejectParked: "Reject"
        case .retry, .retryUnclaimed: "Retry now"
        case .revoke: "Revoke"
        case .reinstate: "Reinstate"
        }
    }

    /// The question that the operator confirms.
    /// - Parameter count: of how many.
    func question(_ count: Int) -> String {
        let held = count == 1 ? "1 held transaction" : "\(count) held transactions"
        let parked = count == 1 ? "1 parked submission" : "\(count) parked submissions"
        let unclaimed = count == 1 ? "1 unclaimed purchase" : "\(count) unclaimed purchases"
        return switch self {
        case .release: "Release \(held)?"
        case .rejectHeld: "Reject \(held) for good?"
        case .retry: "Try \(parked) now?"
        case .rejectParked: "Reject \(parked) for good?"
        case .retryUnclaimed: "Look at \(unclaimed) again?"
        case .revoke: "Take this grant back from its player?"
        case .reinstate: "Take back the revocation of this grant?"
        }
    }

    /// The consequence of the change.
    var consequence: String {
        switch self {
        case .release: "The reason is let pass. A worker asks Apple again, judges the rest anew, and grants."
        case .rejectHeld, .rejectParked:
            "Each is answered with receipt.rejected, refused_by_operator."
        case .retry: "A worker tries them within seconds."
        case .retryUnclaimed:
            "A worker looks at each within seconds, also at what killed some: it is delivered, or unclaimed again."
        case .revoke: "A worker publishes receipt.revoked with revoked_by_operator."
        case .reinstate: "A worker publishes receipt.reinstated, unless Apple has refunded it too."
        }
    }

    var isFinal: Bool { self == .rejectHeld || self == .rejectParked || self == .revoke }

    /// Whether it is done only while the filter shows the same as before. Trying what is parked again harms none
    /// that came since, and while workers answer it no two looks would agree.
    var needsSameSet: Bool {
        switch self {
        case .release, .rejectHeld, .rejectParked, .retryUnclaimed: true
        case .retry, .revoke, .reinstate: false
        }
    }

    /// The page that it is about.
    var list: String {
        switch self {
        case .release, .rejectHeld: "held"
        case .retry, .rejectParked: "parked"
        case .retryUnclaimed: "unclaimed"
        case .revoke, .reinstate: "search"
        }
    }

    var takesFilter: Bool { self != .revoke && self != .reinstate }

    /// The way to undo the change, or the reason why there is none.
    var undoing: String {
        switch self {
        case .release: "Until a worker has judged it, it can still be rejected; afterwards Revoke takes the grant back."
        case .rejectHeld, .rejectParked: "This cannot be undone: the game is told that it is final."
        case .retry: "There is nothing to undo: it is tried as it would be later."
        case .retryUnclaimed: "What is delivered then can be taken back by Revoke."
        case .revoke: "Reinstate undoes it."
        case .reinstate: "Revoke undoes it."
        }
    }
}
