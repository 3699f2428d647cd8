import Fulfillment
import Synchronization

/// Due work that is a submission in hand: parked ones, and holds. All sources of it share a smaller part of the slots, beside
/// the fresh ones: what frees thousands at once asks Apple no more than that.
protocol LeaseSource: DueWork where Item == SubmissionInHand {
    var worker: SubmissionWorker { get }

    /// Ends a try: the submission has its outcome, or waits again. Throws where the database is out of reach.
    func end(_ item: SubmissionInHand) async throws
}

extension LeaseSource {
    /// A submission's own patience ends its try.
    var trySeconds: Double? { nil }

    func work(on item: SubmissionInHand) async throws {
        CrashPoint.passed(item.decoded)
        try await worker.work(on: item)
        try await Suspected.waiting { try await end(item) }
    }

    func putOff(_ item: SubmissionInHand) async throws { try await release(item) }
}

extension DueBatch<SubmissionInHand> {
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

/// Apple's answer to the one proof of several that were leased together. They come one after the other, in one task.
final class GroupAnswer: Sendable {
    private let known = Mutex<AppleAnswer?>(nil)

    func value(_ ask: () async -> AppleAnswer) async -> AppleAnswer {
        if let answer = known.withLock({ $0 }) { return answer }
        let answer = await ask()
        known.withLock { $0 = answer }
        return answer
    }
}
