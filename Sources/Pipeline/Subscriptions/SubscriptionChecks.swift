import Fulfillment
import Logging
import NamesAndTimes
import Operations
import Synchronization

/// Checks with Apple the subscriptions whose period is over. It requests their statuses from the App Store Server API.
/// For an app without credentials, it sends the newest receipt to verifyReceipt.
final class SubscriptionChecks: DueWork {
    let part = Health.Part.subscriptionLoop
    let failingPart = FailingPart.subscriptions
    let places = DuePlaces.own(PipelineLimits.subscriptionConcurrency)

    private let store: any FollowedSubscriptions
    private let verification: PipelineVerification
    private let catalog: @Sendable () -> Catalog
    private let publication: EventPublication
    /// The leases under way, by app. Each app has a limit, so Apple's slow answers for one app do not delay other apps.
    private let underWay = Mutex<[BundleID: Set<Lease>]>([:])

    private struct Lease: Hashable {
        let subscription: StoreTransactionID
        let number: Int64

        init(_ leased: LeasedSubscription) {
            subscription = leased.originalTransactionID
            number = leased.lease
        }
    }

    init(
        store: any FollowedSubscriptions, verification: PipelineVerification,
        catalog: @escaping @Sendable () -> Catalog,
        publication: EventPublication
    ) {
        self.store = store
        self.verification = verification
        self.catalog = catalog
        self.publication = publication
    }

    var isWanted: Bool { catalog().apps.values.contains(where: \.followsRenewals) }

    func leaseDue(limit: Int) async throws -> DueBatch<LeasedSubscription> {
        // The order is random, so that apps take turns.
        let apps = catalog().apps.values.filter(\.followsRenewals).map(\.bundleID).shuffled()
        let room = underWay.withLock { underWay in
            apps.map { (app: $0, most: PipelineLimits.subscriptionsOfOneApp - underWay[$0, default: []].count) }
        }
        let leased = try await store.leaseDue(room: room, limit: limit)
        underWay.withLock { for one in leased { $0[one.bundleID, default: []].insert(Lease(one)) } }
        return DueBatch(leased, limit: limit)
    }

    func work(on leased: LeasedSubscription) async throws {
        defer { end(leased) }
        let catalog = catalog()
        guard let app = catalog.apps[leased.bundleID], app.followsRenewals else {
            return try await store.endLease(of: leased)
        }
        let question = SubscriptionQuestion(
            leased, app, verifier: verification.verifier, queries: verification.queries)
        let asked = await question.ask(now: { WallClock.now })
        switch asked {
        // An answer of Apple's counts even if the try took too long.
        case .found(let findings): try await settle(findings, of: leased, catalog)
        // Without credentials and without a receipt, the row waits until new facts about the subscription arrive.
        case .nothingToAskWith: try await settle(SubscriptionFindings(), of: leased, catalog)
        case .later(let seconds), .blocked(_, let seconds):
            if Task.isCancelled { throw Abandoned() }
            try await store.reschedule(leased, dueAfterSeconds: seconds)
        }
    }

    private func settle(
        _ findings: SubscriptionFindings, of leased: LeasedSubscription, _ catalog: Catalog
    ) async throws {
        let check = SubscriptionCheck(leased, findings, at: WallClock.now)
        let events = try await store.settle(check, catalog: catalog)
        CrashPoint.subscriptionSettled.reached()
        try await publication.publish(events.map { TracedEvent(event: $0) })
    }

    func putOff(_ leased: LeasedSubscription) async throws {
        try await store.reschedule(
            leased, dueAfterSeconds: SubscriptionQuestion.spread(PipelineLimits.troubledSubscriptionSeconds))
    }

    func release(_ leased: LeasedSubscription) async throws {
        // `work`, which also calls `end`, may not have begun.
        end(leased)
        try await store.endLease(of: leased)
    }

    private func end(_ leased: LeasedSubscription) {
        underWay.withLock { _ = $0[leased.bundleID]?.remove(Lease(leased)) }
    }
}
