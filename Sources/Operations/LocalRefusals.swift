import Synchronization

/// Rejections that this process decided without asking anyone, and that are in no table: a sample of each minute, for
/// whoever keeps it in PostgreSQL. A flood of one reason does not push out the others, nor does one player.
///
/// Any thread.
public final class LocalRefusals: Sendable {
    /// One rejection, as its event tells it.
    public struct Entry: Sendable, Equatable {
        public let eventID: String
        public let submissionID: String
        public let playerID: String
        /// Nil where the record names none.
        public let bundleID: String?
        public let reason: String
        public let detailCode: String
        public let detail: String
        /// Of the event, RFC 3339.
        public let occurredAt: String

        public init(
            eventID: String, submissionID: String, playerID: String, bundleID: String?, reason: String,
            detailCode: String, detail: String, occurredAt: String
        ) {
            (self.eventID, self.submissionID, self.playerID) = (eventID, submissionID, playerID)
            (self.bundleID, self.reason) = (bundleID, reason)
            (self.detailCode, self.detail, self.occurredAt) = (detailCode, detail, occurredAt)
        }
    }

    /// Between two takings.
    public static let maximum = 200
    /// The same of one player.
    static let maximumOfPlayer = 4

    private struct State {
        var byReason: [String: [Entry]] = [:]
        var players: [String: Int] = [:]
        var count = 0
    }

    private let state = Mutex(State())

    public init() {}

    /// - Parameter entry: made only where it is kept.
    public func note(reason: String, player: String, _ entry: () -> Entry) {
        state.withLock { state in
            guard state.players[player, default: 0] < Self.maximumOfPlayer else { return }
            if state.count >= Self.maximum {
                // The commonest reason gives a place to a rarer one.
                guard let most = state.byReason.max(by: { $0.value.count < $1.value.count }),
                    most.value.count > state.byReason[reason, default: []].count + 1,
                    let dropped = state.byReason[most.key]?.popLast()
                else { return }
                state.players[dropped.playerID, default: 1] -= 1
                state.count -= 1
            }
            state.byReason[reason, default: []].append(entry())
            state.players[player, default: 0] += 1
            state.count += 1
        }
    }

    /// What is to be kept; the next minute's begin anew.
    public func take() -> [Entry] {
        state.withLock { state in
            defer { state = State() }
            return state.byReason.values.flatMap(\.self)
        }
    }

    /// They could not be kept.
    public func putBack(_ entries: [Entry]) {
        for entry in entries { note(reason: entry.reason, player: entry.playerID) { entry } }
    }
}
