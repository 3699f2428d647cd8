import Fulfillment
import Kafka
import NamesAndTimes

/// Keeps the lease gate closed, so that no loop behind the gate leases rows, until the worker has restored the claims
/// (the owners of purchases) that the database lost. If the database fell back to an earlier state, the ledger too
/// decides nothing until then.
final class LossWait {
    private let assignment: PartitionAssignment
    private let preparation: PartitionPreparation
    /// The number of calls of `giveUp`. Each takeover begins with a call, so the number identifies the takeover.
    private var takeovers = 0
    /// The ledger's `fallBackCount` when the last takeover began: the number of times that the database had fallen
    /// back.
    private(set) var fallBackCount = 0
    /// The time of the first takeover of partitions after the database last fell back, in monotonic seconds; nil if it
    /// never fell back.
    private var fellBackAt: Double?
    private var entering: Task<Void, Never>?

    init(assignment: PartitionAssignment, preparation: PartitionPreparation) {
        (self.assignment, self.preparation) = (assignment, preparation)
    }

    /// Prepares for a takeover of partitions. Call it before the takeover reads from the database.
    func prepare() {
        giveUp()
        let count = preparation.worker.ledger.fallBackCount
        if count > fallBackCount { fellBackAt = WallClock.monotonicSeconds }
        fallBackCount = count
    }

    /// If the database recently fell back, stores that it may have lost decisions on these partitions' records. This is
    /// necessary because Kafka's offsets do not show the loss of decisions that came after the last commit.
    /// - Parameter ends: the ends of the logs. If a partition's end is missing, its loss covers every offset.
    /// - Returns: false if the database does not answer.
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

    /// Begins to restore lost claims, after partitions were taken over.
    /// - Parameter isRead: true if the database answered the takeover's reads. If false, the worker knows the losses
    ///   only when the first partition is prepared.
    /// - Returns: the task that restores the claims. The task ends when the claims are restored, or when a later
    ///   takeover cancels the task.
    func begin(isRead: Bool) -> Task<Void, Never> {
        let entering = preparation.enterClaims()
        self.entering = entering
        if isRead { preparation.tell(entering, takeover: takeovers) }
        return entering
    }

    /// Cancels the restoring of claims, because another takeover begins or no partition is left.
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
