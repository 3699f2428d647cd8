import Synchronization

/// Remembers the ids of notifications that are on the topic, so that Apple's repeated posts of a notification make one
/// record. The memory is limited, and only in this process. If a forgotten notification comes again, it makes another
/// record, which the workers do not count again.
final class OncePosted<Failure: Sendable>: Sendable {
    enum Storing: Sendable {
        case stored
        /// The notification was already on its topic, or another post stored it meanwhile.
        case storedBefore
        case failed(Failure)
    }

    private enum Turn: Sendable {
        case first
        case ended(Storing)
    }

    private struct State {
        var stored: Set<String> = []
        /// The ids of `stored`, in order of arrival. When the array is full, it is a ring that starts at `oldest`.
        var order: [String] = []
        var oldest = 0
        /// The tasks that wait for an earlier post with the same id.
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

    /// - Parameter maximum: the most ids that are remembered. A further id replaces the oldest.
    init(maximum: Int = 50_000) {
        self.maximum = maximum
    }

    /// Stores a post. Later posts with its id wait for the first post, and get the first post's result.
    /// - Parameter store: stores the record. Returns nil when the broker has acknowledged it.
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
