import Fulfillment

/// Keeps leases and, after a fall back, the ledger's decisions waiting until the owners that the database lost are entered again.
final class LossWait {
    private let assignment: PartitionAssignment
    private let preparation: PartitionPreparation
    /// Counts assignments, and each time that all were given up.
    private var takeovers = 0
    /// The ledger's fall backs when the last takeover began.
    private(set) var fallBackCount = 0
    private var entering: Task<Void, Never>?

    init(assignment: PartitionAssignment, preparation: PartitionPreparation) {
        (self.assignment, self.preparation) = (assignment, preparation)
    }

    /// Partitions are about to be taken over. Call it before the database is asked what it has.
    func prepare() {
        giveUp()
        fallBackCount = preparation.worker.ledger.fallBackCount
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
