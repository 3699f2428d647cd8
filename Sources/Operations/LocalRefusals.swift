import Fulfillment
import Synchronization

/// Samples refusals that no table stores: dead letters, and rejections by screening. Each minute has its own sample.
/// Many refusals with one reason or of one player do not push out other refusals.
///
/// Any thread may call it.
public final class LocalRefusals: Sendable {
    /// The most refusals in one sample.
    public static let maximum = 200
    /// The most refusals of one player in one sample.
    static let maximumOfPlayer = 4

    private struct State {
        var byReason: [String: [LocalRefusal]] = [:]
        var players: [String: Int] = [:]
        var count = 0
    }

    private let state = Mutex(State())

    public init() {}

    /// Adds a refusal to the sample if the sample has a place for it.
    /// - Parameter entry: makes the refusal; called only if the sample has a place.
    public func note(reason: String, player: String, _ entry: () -> LocalRefusal) {
        state.withLock { state in
            guard state.players[player, default: 0] < Self.maximumOfPlayer else { return }
            if state.count >= Self.maximum {
                // A refusal with the most frequent reason makes room for a refusal with a rarer reason.
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

    /// Returns the sample, and begins a new one.
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
