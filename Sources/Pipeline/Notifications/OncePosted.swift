import Synchronization

/// Remembers the ids of notifications that are on the topic, so that a notification that Apple posts repeatedly makes
/// one record. The memory is bounded and belongs to this process. A forgotten notification that comes again makes
/// another record, which the workers do not count again.
final class OncePosted<Failure: Sendable>: Sendable {
    enum Storing: Sendable {
        case stored
        /// The notification was on its topic already, or another post of it was stored meanwhile.
        case storedBefore
        case failed(Failure)
    }

    private enum Turn: Sendable {
        case first
        case ended(Storing)
    }

    private struct State {
        var stored: Set<String> = []
        /// The ids of `stored` in a ring, from `oldest` on once it is full.
        var order: [String] = []
        var oldest = 0
        /// The tasks that wait for an earlier post of the same id.
        var underWay: [String: [CheckedContinuation<Turn, Never>]] = [:]

        mutating func remember(_ id: String, _ maximum: Int) {
            guard stored.insert(id).inserted else { return }
            guard order.count >= maximum else { return order.append(id) }
            stored.remove(order[oldest])
            order[oldest] = id
            oldest = (oldest + 1) % maximum
        }
    }

    private let state = Mutex(State())
    private let maximum: Int

    /// - Parameter maximum: the most ids that are remembered. Beyond it a new id replaces the oldest one.
    init(maximum: Int = 50_000) {
        self.maximum = maximum
    }

    /// Stores a post. Later posts of its id wait for the first post, and end as the first post does.
    /// - Parameter store: returns nil once the broker has acknowledged the record.
    func once(_ id: String, _ store: () async -> Failure?) async -> Storing {
        if case .ended(let storing) = await turn(of: id) { return storing }
        let failure = await store()
        let waiting = state.withLock { state in
            if failure == nil { state.remember(id, maximum) }
            return state.underWay.removeValue(forKey: id) ?? []
        }
        for one in waiting { one.resume(returning: .ended(failure.map { .failed($0) } ?? .storedBefore)) }
        return failure.map { .failed($0) } ?? .stored
    }

    private func turn(of id: String) async -> Turn {
        await withCheckedContinuation { continuation in
            let turn = state.withLock { state -> Turn? in
                if state.stored.contains(id) { return .ended(.storedBefore) }
                if state.underWay[id] != nil {
                    state.underWay[id]?.append(continuation)
                    return nil
                }
                state.underWay[id] = []
                return .first
            }
            if let turn { continuation.resume(returning: turn) }
        }
    }
}
