import Fulfillment

/// Keeps leases and, after a fall back, the ledger's decisions waiting until the owners that the database lost are entered again.
final class LossWait {
    private let assignment: PartitionAssignment
    private let preparation: PartitionPreparation
    /// Counts assignments, and each time that all were given up.
    private var takeovers = 0
    private var waiting: Task<Void, Never>?

    init(assignment: PartitionAssignment, preparation: PartitionPreparation) {
        (self.assignment, self.preparation) = (assignment, preparation)
    }

    /// Partitions were taken over.
    func begin() {
        giveUp()
        waiting = preparation.awaitClaims(takeover: takeovers)
    }

    /// No partition is left: what is asked for is not waited for.
    func giveUp() {
        takeovers += 1
        waiting?.cancel()
    }

    func claimsAreEntered(takeover: Int) {
        if takeover == takeovers { areKnown() }
    }

    func areKnown() {
        assignment.lossesAreKnown()
        preparation.worker.ledger.lossesAreKnown()
    }
}
