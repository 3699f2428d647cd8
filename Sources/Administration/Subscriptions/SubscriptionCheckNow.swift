import AppStore
import AppleProofs
import Fulfillment
import Ledger
import NamesAndTimes
import Pipeline
import Postgres
import ReceiptdConfiguration

/// Asks Apple about one subscription, even if no check is due, and stores the result. Workers publish the events.
package struct SubscriptionCheckNow {
    let settings: Settings
    let secrets: SecretSource
    let pool: PostgresPool

    package init(settings: Settings, secrets: SecretSource, pool: PostgresPool) {
        self.settings = settings
        self.secrets = secrets
        self.pool = pool
    }

    /// Checks the subscription, and returns the number of events. Throws a `CommandFailure` if receiptd does not know
    /// the subscription or its app, if it cannot ask Apple, or if Apple gives no usable answer. Throws a
    /// `PostgresError`.
    package func run(_ original: StoreTransactionID) async throws -> Int {
        let store = PostgresSubscriptions(pool: pool)
        guard let leased = try await store.lease(original) else {
            throw CommandFailure("receiptd knows no subscription \(ShownText.quoted(original.text))", code: 1)
        }
        do {
            return try await ask(of: leased, in: store)
        } catch {
            // If this call fails too, the lease ends by itself after two minutes. `error` says why the check failed.
            try? await store.endLease(of: leased)
            throw error
        }
    }

    private func ask(of leased: LeasedSubscription, in store: PostgresSubscriptions) async throws -> Int {
        guard let catalog = try await catalog(), let app = catalog.apps[leased.bundleID] else {
            throw CommandFailure("the catalog does not have the subscription's app", code: 1)
        }
        let client = try client()
        let answer = await SubscriptionQuestion(
            leased, app, verifier: client, queries: client.transactions
        ).ask(now: { WallClock.now })
        await client.shutdown()
        switch answer {
        case .found(let findings):
            let events = try await store.settle(
                SubscriptionCheck(leased, findings, at: WallClock.now), catalog: catalog)
            // PostgreSQL has the result. If the handover fails, a worker's sweep of the outbox publishes the events
            // some seconds later.
            try? await pool.run { try HandOverEvents.run(events.map(\.eventID), in: $0) }
            return events.count
        case .nothingToAskWith:
            throw CommandFailure(
                "receiptd cannot ask Apple: the subscription's app has no server_api, and receiptd has no receipt of "
                    + "the subscription",
                code: 1)
        case .blocked(let blockage, _) where blockage != .request:
            throw CommandFailure(
                "Apple refuses the app's credentials, or they are not set (\(blockage.rawValue)): run `receiptd check`",
                code: CommandFailure.wrongSettings)
        case .blocked, .later:
            throw CommandFailure(
                "Apple gives no answer: run `receiptd check`", code: CommandFailure.unavailable)
        }
    }

    private func catalog() async throws -> Catalog? {
        let store = CatalogStore(pool: pool)
        guard let version = try await store.latestVersion(), let document = try await store.load(version: version)
        else { return nil }
        return try CatalogFile.parse(document.document, version: version)
    }

    private func client() throws -> AppStoreClient {
        let secret: @Sendable (String) -> String? = { [secrets] in secrets.secret(named: $0) }
        do {
            return AppStoreClient(
                receipts: try VerifyReceiptClient(settings: settings.apple.client, secrets: secret),
                transactions: try ServerAPIClient(
                    settings: settings.apple.client, secrets: secret, proofs: ProofReader(roots: settings.apple.roots)))
        } catch {
            throw CommandFailure(
                "receiptd cannot make an HTTP client with these settings", code: CommandFailure.wrongSettings)
        }
    }
}
