import Foundation

/// Bugs that the chaos suite must find. `RECEIPTD_PLANTED_FAULT` names the bug that the process has, in debug builds
/// only. A suite that misses a planted bug would also miss a real bug.
public enum PlantedFault: String, CaseIterable, Sendable {
    /// The worker commits the offsets of records that it has polled but not decided.
    case commitAhead = "commit-ahead"
    /// The worker publishes the events of some batches although PostgreSQL rolled their SQL transaction back.
    case eventBeforeCommit = "event-before-commit"
    /// The circuit breaker counts failures as answers.
    case breakerIgnored = "breaker-ignored"
    /// The worker ignores Apple's `Retry-After`.
    case retryAfterIgnored = "retry-after-ignored"
    /// The worker commits the offsets of a partition after Kafka revoked it, as if all its records were decided.
    case commitAfterRevoke = "commit-after-revoke"
    /// The worker drops a parked submission that is still undecided, instead of putting the submission back.
    case parkedRowDropped = "parked-row-dropped"
    /// The worker writes a partition's checkpoint without comparing it with the present row.
    case checkpointNotCompared = "checkpoint-not-compared"
    /// The worker commits the offsets of decided records without a checkpoint.
    case commitWithoutCheckpoint = "commit-without-checkpoint"
    /// The worker does not notice that the database's history changed between a decision and its checkpoint, or that
    /// the database lost the worker's last decision.
    case earlierHistoryCounts = "earlier-history-counts"
    /// The worker drops a batch whose database session hangs, so that no worker decides it again.
    case hungBatchDropped = "hung-batch-dropped"
    /// The worker does not store some announced purchases, so that no worker delivers them.
    case toldPurchaseDropped = "told-purchase-dropped"
    /// The worker does not store a refund of a transaction that is not granted yet.
    case earlyRefundForgotten = "early-refund-forgotten"

    @inlinable
    public var isPlanted: Bool {
        #if DEBUG
            self == Self.planted
        #else
            false
        #endif
    }

    #if DEBUG
        public static let planted = ProcessInfo.processInfo.environment["RECEIPTD_PLANTED_FAULT"]
            .flatMap(PlantedFault.init(rawValue:))
    #endif
}
