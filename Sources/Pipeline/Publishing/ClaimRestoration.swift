import Fulfillment
import Kafka
import Logging
import NamesAndTimes
import Operations
import Synchronization

/// Restores claims after the database fell back to an earlier state. It reads the owners of published purchases, and
/// the players of published refund requests, from the outcomes topic. It stores them as claims, before the worker
/// decides anything again. Otherwise another player, whose record comes first this time, could get a purchase that was
/// already published for its owner.
actor ClaimRestoration {
    private let search: LossSearch
    private let published: PublishedGrants
    private let checkpoints: any OffsetCheckpoints
    private let claims: any PublishedClaims
    private let ledger: any PurchaseLedger
    private let metrics: ReceiptdMetrics
    private let failures: Failures
    private let logger: Logger
    /// The ledger's `fallBackCount` at the last comparison of published events; nil before the first comparison.
    private var comparedAfter: Int?
    /// The last restoration. The next restoration waits until the last one ends, and then finds no claims to restore.
    private var last: Task<Void, Never>?

    init(
        search: LossSearch, published: PublishedGrants, checkpoints: any OffsetCheckpoints,
        claims: any PublishedClaims, ledger: any PurchaseLedger, metrics: ReceiptdMetrics,
        failures: Failures, logger: Logger
    ) {
        self.search = search
        self.published = published
        self.checkpoints = checkpoints
        self.claims = claims
        self.ledger = ledger
        self.metrics = metrics
        self.failures = failures
        self.logger = logger
    }

    /// Restores all lost claims. Returns when none is left, or when the task is cancelled. Every worker may do this,
    /// because restoring a claim twice does no harm.
    func finish() async {
        let before = last
        let task = Task {
            await before?.value
            await enterAll()
        }
        last = task
        await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
    }

    private nonisolated func enterAll() async {
        // If many events were published since the loss, reading takes long. So the worker logs, once, that partitions
        // wait.
        var (hasLooked, isTold) = (false, false)
        while !Task.isCancelled {
            do {
                if !hasLooked {
                    try await keepLost()
                    try await keepLostRevisions()
                }
                hasLooked = true
                guard let lost = try await checkpoints.lostClaims() else { return failures.recovered(.claims) }
                if !isTold {
                    isTold = true
                    logger.notice(
                        "partitions wait while the worker reads the owners of published purchases from the outcomes topic",
                        [.detail: "since \(lost.since.rfc3339)"])
                }
                let (owners, due) = try await enter(lost)
                try await checkpoints.entered(lost)
                logger.notice(
                    "the worker restored the owners of published purchases: the database had lost them",
                    [.count: .stringConvertible(owners)])
                if due > 0 {
                    logger.notice(
                        "the worker asks Apple about subscriptions whose published state the database had lost",
                        [.count: .stringConvertible(due)])
                }
            } catch is CancellationError {
                return
            } catch {
                failures.report(error, of: .claims)
                await BlockingWork.pause(seconds: PipelineLimits.claimsRetrySeconds)
            }
        }
    }

    /// Stores the losses that Kafka's committed offsets show. After that, every worker finds these losses in the
    /// database.
    private nonisolated func keepLost() async throws {
        let committed = try await blocking { [search, logger] in
            search.committed { topic, error in
                logger.warning(
                    """
                    the worker cannot read a topic's committed offsets: if the database lost a partition's decisions, \
                    only the worker that has this partition notices
                    """,
                    [.topic: "\(topic.name)", .error: "\(error.name)"])
            }
        }
        for (topic, offsets) in committed where !offsets.isEmpty {
            let stored = try await checkpoints.read(topic: topic, partitions: offsets.keys.sorted())
            let lost = LossSearch.lost(offsets, stored)
            if !lost.isEmpty { try await checkpoints.keepDecidedAgain(lost, topic: topic) }
        }
    }

    /// Compares the revisions of grants and subscriptions in the last published events with the database. If Kafka's
    /// offsets are not higher than the database's checkpoints, only this comparison shows a new process that the
    /// database fell back. Each process compares once, and again after each fall back.
    private nonisolated func keepLostRevisions() async throws {
        let count = ledger.fallBackCount
        guard await comparedAfter != count, let topic = search.topics.first else { return }
        // The ledger counts only the fall backs after this call. An earlier fall back shows in the published events.
        if count == 0 { try await ledger.meetDatabase() }
        let ends = try await blocking { [search] in try search.ends(of: topic) }
        let stored = try await checkpoints.read(topic: topic.name, partitions: ends.keys.sorted())
        // A database without checkpoints is new, and has lost nothing.
        if !stored.checkpoints.isEmpty {
            // If the events cannot be read, the worker compares again when it next takes over partitions.
            guard let events = try await lastPublished() else { return }
            // A new process does not report a loss that another process already noticed.
            let noticed = count > 0 ? nil : stored.decidedAgain.values.map(\.noticedAt).max()
            let lacking = try await claims.countLacking(
                events.filter { event in noticed.map { event.publishedAt > $0 } ?? true })
            if lacking > 0 {
                try await checkpoints.keepDecidedAgain(ends, topic: topic.name)
                metrics.databaseFellBack(lacking: lacking, publishedTo: published.topic, logger)
            }
        }
        await compared(after: count)
    }

    private func compared(after count: Int) { comparedAfter = count }

    /// Returns the revisions in the last published events. Returns nil if the outcomes topic cannot be read, because
    /// submissions must not wait for that topic's brokers.
    private nonisolated func lastPublished() async throws -> [PublishedRevision]? {
        do {
            return try await reading { [published] in try published.last(isCancelled: $0) }
        } catch let error where !(error is CancellationError) {
            logger.warning(
                """
                the worker cannot read the last published events: until its next partition assignment it cannot tell \
                whether the database lacks these events' grants
                """,
                [.topic: "\(published.topic)", .error: "\((error as? KafkaError)?.name ?? "timeout")"])
            return nil
        }
    }

    /// Restores the lost claims. Returns the number of stored owners, and the number of subscriptions made due.
    private nonisolated func enter(_ lost: LostClaims) async throws -> (owners: Int, due: Int) {
        // The clocks of Kafka and PostgreSQL may differ, so reading starts earlier.
        let since = lost.since.adding(milliseconds: -LostDecisions.clockMargin)
        return try await reading { [published, claims] isCancelled in
            var (count, due) = (0, 0)
            try published.read(since: since, isCancelled: isCancelled) { owners, subscriptions in
                for batch in owners.batches {
                    try Self.wait { try await claims.enter(batch, noticedAt: lost.noticedAt) }
                    count += batch.count
                }
                for batch in subscriptions.batches {
                    due += try Self.wait { try await claims.makeDue(lacking: batch) }
                }
            }
            return (count, due)
        }
    }

    private nonisolated func reading<Result: Sendable>(
        _ body: @escaping @Sendable (_ isCancelled: @Sendable () -> Bool) throws -> Result
    ) async throws -> Result {
        let isCancelled = CancellationFlag()
        return try await withTaskCancellationHandler {
            try await blocking { try body { isCancelled.isRaised } }
        } onCancel: {
            isCancelled.raise()
        }
    }

    private static func wait<Result: Sendable>(
        _ body: @escaping @Sendable () async throws -> Result
    ) throws -> Result {
        let seconds = PipelineLimits.publishedSilenceSeconds
        var failure: any Error = BlockingWork.TimedOut(seconds: seconds)
        guard let result = BlockingWork.wait(seconds: seconds, failed: { failure = $0 }, body) else { throw failure }
        return result
    }
}

extension Array {
    /// The array in parts of at most `claimsBatch` elements.
    fileprivate var batches: [[Element]] {
        stride(from: 0, to: count, by: PipelineLimits.claimsBatch).map {
            Array(self[$0..<Swift.min(count, $0 + PipelineLimits.claimsBatch)])
        }
    }
}

private final class CancellationFlag: Sendable {
    private let state = Mutex(false)

    var isRaised: Bool { state.withLock { $0 } }
    func raise() { state.withLock { $0 = true } }
}
