import Fulfillment
import Kafka
import NamesAndTimes

/// Keeps leases and, after a fall back, the ledger's decisions waiting until the owners that the database lost are entered again.
final class LossWait {
    private let assignment: PartitionAssignment
    private let preparation: PartitionPreparation
    /// Counts assignments, and each time that all were given up.
    private var takeovers = 0
    /// The ledger's fall backs when the last takeover began.
    private(set) var fallBackCount = 0
    /// The takeover behind the last fall back, in monotonic seconds; nil: none was noticed.
    private var fellBackAt: Double?
    private var entering: Task<Void, Never>?

    init(assignment: PartitionAssignment, preparation: PartitionPreparation) {
        (self.assignment, self.preparation) = (assignment, preparation)
    }

    /// Partitions are about to be taken over. Call it before the database is asked what it has.
    func prepare() {
        giveUp()
        let count = preparation.worker.ledger.fallBackCount
        if count > fallBackCount { fellBackAt = WallClock.monotonicSeconds }
        fallBackCount = count
    }

    /// Keeps that records of these partitions may have been decided in a state that is lost, after a fall back that a
    /// connection showed. Kafka's offsets need not show it: what was decided since their last commit is lost all the same.
    /// - Parameter ends: the ends of the logs; a partition without one is kept whole.
    /// - Returns: false where the database does not answer.
    func keepUnseen(in partitions: [TopicPartition], _ ends: [TopicPartition: (low: Int64, high: Int64)]?) -> Bool {
        guard let fellBackAt, WallClock.monotonicSeconds - fellBackAt < PipelineLimits.fallBackSeconds else {
            return true
        }
        let now = WallClock.now
        let unseen = Dictionary(uniqueKeysWithValues: partitions.map { ($0, ends?[$0]?.high ?? .max) })
        for (partition, offset) in unseen {
            assignment[partition]?.mayHaveLost(LostDecisions(belowOffset: offset, noticedAt: now))
        }
        return preparation.checkpointer.keepDecidedAgain(
            unseen, since: now, seconds: PipelineLimits.durableReadSeconds)
    }

    /// Partitions were taken over.
    /// - Parameter isRead: the database has answered, and knows of each loss. Else the first partition that is prepared tells so.
    /// - Returns: what ends once the lost owners are entered, or once a later takeover begins.
    func begin(isRead: Bool) -> Task<Void, Never> {
        let entering = preparation.enterClaims()
        self.entering = entering
        if isRead { preparation.tell(entering, takeover: takeovers) }
        return entering
    }

    /// No partition is left: what is asked for is not waited for.
    func giveUp() {
        takeovers += 1
        entering?.cancel()
    }

    func claimsAreEntered(takeover: Int) {
        if takeover == takeovers { areKnown() }
    }

    func areKnown() {
        assignment.lossesAreKnown()
        preparation.worker.ledger.lossesAreKnown(after: fallBackCount)
    }
}
