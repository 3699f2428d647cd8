import Fulfillment

/// All that is leased to be decided shares a smaller part of the slots, beside the fresh ones: what frees thousands at once
/// asks Apple no more than that.
extension DueBatch {
    /// - Parameters:
    ///   - proof: the same for those that one answer serves.
    ///   - inHand: a lease with its group's answer.
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
