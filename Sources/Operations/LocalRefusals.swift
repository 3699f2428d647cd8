import Fulfillment
import Synchronization

/// A sample of dead letters and of the rejections that screening decided without a request and without a table. Each
/// minute has its own sample. A flood of one reason or player does not push out the others.
///
/// Any thread may call it.
public final class LocalRefusals: Sendable {
    /// The most refusals between two calls of `take`.
    public static let maximum = 200
    /// The most refusals of one player between two calls of `take`.
    static let maximumOfPlayer = 4

    private struct State {
        var byReason: [String: [LocalRefusal]] = [:]
        var players: [String: Int] = [:]
        var count = 0
    }

    private let state = Mutex(State())

    public init() {}

    /// Enters a refusal in the sample, if there is a place.
    /// - Parameter entry: called only if the refusal enters the sample.
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

    /// Returns the sample to be stored, and begins an empty one for the next minute.
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
