import Foundation

/// Bugs that the chaos suite must find: one is planted where `RECEIPTD_PLANTED_FAULT` names it, in debug builds only.
/// What never finds a planted one proves nothing by finding none.
public enum PlantedFault: String, CaseIterable, Sendable {
    /// Offsets are committed for what was merely taken.
    case commitAhead = "commit-ahead"
    /// Some batches are answered, and so published, although their transaction was rolled back.
    case eventBeforeCommit = "event-before-commit"
    /// The circuit breaker never hears of a failure.
    case breakerIgnored = "breaker-ignored"
    /// Apple's `Retry-After` holds back nobody.
    case retryAfterIgnored = "retry-after-ignored"
    /// Offsets of a partition are committed after it was revoked, as if all of it had been finished.
    case commitAfterRevoke = "commit-after-revoke"
    /// A parked submission that is still undecided is not put back.
    case parkedRowDropped = "parked-row-dropped"
    /// A partition's checkpoint is written, whatever its row holds.
    case checkpointNotCompared = "checkpoint-not-compared"
    /// Offsets are committed for what is finished and has no checkpoint.
    case commitWithoutCheckpoint = "commit-without-checkpoint"
    /// A decision of an earlier history of the database counts for a checkpoint of a later one.
    case earlierHistoryCounts = "earlier-history-counts"
    /// A batch whose session hangs is not put aside, so that nobody does it again.
    case hungBatchDropped = "hung-batch-dropped"
    /// Some announced purchases are not stored, so that nobody delivers them.
    case toldPurchaseDropped = "told-purchase-dropped"
    /// A refund of what is not granted yet is not remembered.
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
