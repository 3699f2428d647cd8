import Fulfillment
import Synchronization

/// Apple's answer for a group of rows that share a proof. The worker leased these rows together. One task works on the
/// group, one row after the other.
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
    ///   - proof: returns a key that is equal for leases with the same proof.
    ///   - inHand: makes an item from a lease and its group's answer.
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
