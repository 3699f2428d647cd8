import Fulfillment
import Kafka
import NamesAndTimes

/// Holds leases back until lost claims are entered again. After a fall back of the database, the ledger's decisions
/// wait too.
final class LossWait {
    private let assignment: PartitionAssignment
    private let preparation: PartitionPreparation
    /// The number of takeovers, plus the number of times that all partitions were given up.
    private var takeovers = 0
    /// The number of the ledger's fall backs when the last takeover began.
    private(set) var fallBackCount = 0
    /// The time of the first takeover after the last fall back, in monotonic seconds; nil if no fall back was noticed.
    private var fellBackAt: Double?
    private var entering: Task<Void, Never>?

    init(assignment: PartitionAssignment, preparation: PartitionPreparation) {
        (self.assignment, self.preparation) = (assignment, preparation)
    }

    /// Begins a takeover of partitions. Call it before the takeover reads from the database.
    func prepare() {
        giveUp()
        let count = preparation.worker.ledger.fallBackCount
        if count > fallBackCount { fellBackAt = WallClock.monotonicSeconds }
        fallBackCount = count
    }

    /// Stores that the database may have lost decisions on these partitions, if a connection showed a fall back lately.
    /// Kafka's offsets need not show the loss: decisions since their last commit may be lost too.
    /// - Parameter ends: the ends of the logs. Without a partition's end, the loss covers every offset of the
    ///   partition.
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

    /// Begins to enter lost claims again, after partitions were taken over.
    /// - Parameter isRead: true if the database has answered the takeover. Otherwise the losses are known once the
    ///   first partition is prepared.
    /// - Returns: the task that enters the claims. It ends once they are entered, or once a later takeover cancels it.
    func begin(isRead: Bool) -> Task<Void, Never> {
        let entering = preparation.enterClaims()
        self.entering = entering
        if isRead { preparation.tell(entering, takeover: takeovers) }
        return entering
    }

    /// Stops entering claims, because another takeover begins or no partition is left.
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
