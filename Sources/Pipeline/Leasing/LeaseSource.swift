import Fulfillment
import Operations

/// A table of work that waits for its next try: parked submissions, or holds.
protocol LeaseSource: Sendable {
    /// What is watched, and what is reported to fail, while it is leased from.
    var part: Health.Part { get }
    var failingPart: FailingPart { get }
    /// Leased at a time at most; those that come along with others do not count.
    var batch: Int { get }

    /// What the loop is to do next.
    func nextTurn() async -> LeaseTurn

    /// Leases up to `limit` that are due. Throws where the database is out of reach.
    func leaseDue(limit: Int) async throws -> LeasedBatch

    /// Its try ended: it has its outcome, or waits again. Throws where the database is out of reach.
    func end(_ item: SubmissionInHand) async throws

    /// Its try was given up: as if it had never been leased. Throws where the database is out of reach.
    func release(_ item: SubmissionInHand) async throws

    /// Of one that is tried in isolation: whether a death of the process counts against it from now on, for it is at work, or
    /// does not, for it only waits. Nothing happens where its lease is over. Throws where the database is out of reach.
    func accuse(_ item: SubmissionInHand, isAtWork: Bool) async throws
}

enum LeaseTurn: Sendable {
    case nothing
    /// Lease what is due.
    case due
    /// It may be what killed its workers: it is leased, and to be tried with nothing else leased beside it. Isolation has
    /// begun.
    case isolated(SubmissionInHand)
}

struct LeasedBatch: Sendable {
    /// Those of one proof in one list: they share one answer, and are tried one after the other.
    var groups: [[SubmissionInHand]] = []
    /// There may be more that is due.
    var isFull = false

    var count: Int { groups.reduce(0) { $0 + $1.count } }

    init() {}

    /// - Parameters:
    ///   - proof: the same for those that one answer serves.
    ///   - inHand: a lease with its group's answer.
    init<Lease, Key: Hashable>(
        _ leases: [Lease], by proof: (Lease) -> Key, isFull: Bool, inHand: (Lease, GroupAnswer) -> SubmissionInHand
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
