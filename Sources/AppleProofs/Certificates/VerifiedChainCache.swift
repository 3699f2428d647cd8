import Synchronization

/// The lately verified chains. Apple signs with one chain for months, and the check of a chain costs ten times as much
/// as the check of a signature.
///
/// The cache keeps only chains that end in a trusted root, so that only Apple can fill it. Any thread may use it.
final class VerifiedChainCache: Sendable {
    private struct State {
        var entries: [ChainKey: (chain: VerifiedChain, lastUse: UInt64)] = [:]
        var uses: UInt64 = 0
    }

    private let capacity: Int
    private let state = Mutex(State())

    init(capacity: Int) {
        self.capacity = max(capacity, 1)
    }

    /// The chains' names, in order.
    var names: [[String]] {
        state.withLock { $0.entries.values.map(\.chain.names) }.sorted { $0.lexicographicallyPrecedes($1) }
    }

    var count: Int { state.withLock { $0.entries.count } }

    func chain(for key: ChainKey) -> VerifiedChain? {
        state.withLock { state in
            guard let index = state.entries.index(forKey: key) else { return nil }
            state.uses &+= 1
            state.entries.values[index].lastUse = state.uses
            return state.entries.values[index].chain
        }
    }

    /// Adds a chain. A full cache drops the chain that was used longest ago.
    func insert(_ chain: VerifiedChain, for key: ChainKey) {
        state.withLock { state in
            if state.entries[key] == nil, state.entries.count >= capacity,
                let oldest = state.entries.min(by: { $0.value.lastUse < $1.value.lastUse })
            {
                state.entries[oldest.key] = nil
            }
            state.uses &+= 1
            state.entries[key.copied] = (chain, state.uses)
        }
    }
}
