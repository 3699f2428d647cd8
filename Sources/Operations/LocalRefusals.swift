import Fulfillment
import Synchronization

/// Rejections that this process decided without asking anyone, and that are in no table: a sample of each minute, for
/// whoever keeps it in PostgreSQL. A flood of one reason does not push out the others, nor does one player.
///
/// Any thread.
public final class LocalRefusals: Sendable {
    /// The most between two takings.
    public static let maximum = 200
    /// The same of one player.
    static let maximumOfPlayer = 4

    private struct State {
        var byReason: [String: [LocalRefusal]] = [:]
        var players: [String: Int] = [:]
        var count = 0
    }

    private let state = Mutex(State())

    public init() {}

    /// - Parameter entry: made only where it is kept.
    public func note(reason: String, player: String, _ entry: () -> LocalRefusal) {
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

    /// Takes the refusals that are to be stored; the next minute begins anew.
    public func take() -> [LocalRefusal] {
        state.withLock { state in
            defer { state = State() }
            return state.byReason.values.flatMap(\.self)
        }
    }

    /// Puts refusals back that could not be stored.
    public func putBack(_ entries: [LocalRefusal]) {
        for entry in entries { note(reason: entry.reason, player: entry.playerID) { entry } }
    }
}
