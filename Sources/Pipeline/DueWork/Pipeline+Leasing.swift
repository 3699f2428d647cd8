import Fulfillment
import Logging
import Operations

extension Pipeline {
    typealias LeasingPart = (part: EndlessPart, loop: any LeasingLoop)

    /// Returns a loop for each table whose rows become due.
    static func leasingLoops(
        worker: SubmissionWorker, holds: HeldPurchaseWorker, history: NotificationHistoryPoll?,
        settings: PipelineSettings,
        catalog: @escaping @Sendable () -> Catalog, verification: PipelineVerification, stores: PipelineStores,
        metrics: ReceiptdMetrics, health: Health, logger: Logger
    ) -> [LeasingPart] {
        func loop(_ work: some DueWork, behind leases: LeaseGate? = nil) -> any LeasingLoop {
            DueWorkLoop(
                work, health: health, behind: leases, isAppleDown: { [apple = verification.apple] in apple.isDown })
        }
        let leases = worker.parking.leases
        let parked = ParkedSource(worker: worker, failures: health.failures, logger: logger)
        let finishes = FinishSource(
            store: stores.finishes, queries: verification.queries, catalog: catalog, metrics: metrics, logger: logger,
            retry: settings.retry)
        let refundRequests = RefundRequestSource(
            store: stores.refundRequests, queries: verification.queries, catalog: catalog,
            waitSeconds: settings.apple.consumptionWaitSeconds, metrics: metrics, logger: logger, retry: settings.retry)
        let subscriptions = SubscriptionChecks(
            store: stores.subscriptions, verification: verification, catalog: catalog, publication: worker.publication)
        return [
            (.parkedLoop, loop(parked, behind: leases)),
            (.heldLoop, loop(HeldSource(worker: holds, failures: health.failures, logger: logger), behind: leases)),
            (
                .announcedLoop,
                AnnouncedLoop(worker: worker, announced: stores.announced, health: health, logger: logger)
            ),
            (.finishLoop, loop(finishes)),
            (.refundRequestLoop, loop(refundRequests, behind: leases)),
            (.subscriptionLoop, loop(subscriptions, behind: leases)),
        ] + (history.map { [(.notificationHistory, loop($0, behind: leases))] } ?? [])
    }
}
