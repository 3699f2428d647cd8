import Fulfillment
import Synchronization

/// Apple's answer to a proof that several rows share. The rows were leased together, and one task works on them one
/// after the other.
final class GroupAnswer: Sendable {
    private let known = Mutex<AppleAnswer?>(nil)

    func value(_ ask: () async -> AppleAnswer) async -> AppleAnswer {
        if let answer = known.withLock({ $0 }) { return answer }
        let answer = await ask()
        known.withLock { $0 = answer }
        return answer
    }
}

extension DueBatch {
    /// - Parameters:
    ///   - proof: returns a key, equal for leases that the same answer serves.
    ///   - inHand: makes an item from a lease and the answer of its group.
    init<Lease, Key: Hashable>(
        _ leases: [Lease], by proof: (Lease) -> Key, isFull: Bool, inHand: (Lease, GroupAnswer) -> Item
    ) {
        self.isFull = isFull
        var places: [Key: Int] = [:]
        var answers: [GroupAnswer] = []
        for lease in leases {
            let key = proof(lease)
            let place = places[key] ?? groups.count
            if place == groups.count {
                places[key] = place
                answers.append(GroupAnswer())
                groups.append([])
            }
            groups[place].append(inHand(lease, answers[place]))
        }
    }
}
