import Fulfillment
import Ledger
import Logging
import Operations
import ReceiptdConfiguration
import Synchronization

/// The newest catalog, looked up in the database every few seconds.
package final class CatalogWatch: Sendable {
    /// Half of what the contract allows between an import and its effect.
    static let pollSeconds = 2.0

    private let store: CatalogStore
    private let logger: Logger
    private let failures: Failures
    private let inForce: @Sendable (Catalog) -> Void
    private let newest = Mutex<Catalog?>(nil)

    /// - Parameter inForce: told of each catalog as it comes into force.
    package init(
        store: CatalogStore, logger: Logger, failures: Failures = Failures(),
        inForce: @escaping @Sendable (Catalog) -> Void = { _ in }
    ) {
        self.store = store
        self.logger = logger
        self.failures = failures
        self.inForce = inForce
    }

    package var catalog: Catalog? { newest.withLock { $0 } }

    /// Looks once. Throws where the database is out of reach; then what was known stays in force.
    package func refresh() async throws {
        let known = catalog?.version ?? 0
        guard let version = try await store.latestVersion(), version != known,
            let document = try await store.load(version: version)
        else { return }
        do throws(CatalogFaults) {
            let catalog = try CatalogFile.parse(document.document, version: version)
            newest.withLock { $0 = catalog }
            inForce(catalog)
            logger.info(
                "catalog in force",
                [.version: .stringConvertible(version), .count: .stringConvertible(catalog.apps.count)])
        } catch {
            // Only a newer release's import can bring this about: the older catalog stays in force.
            logger.error(
                "the newest catalog cannot be read by this version: keeping the one before",
                [.version: .stringConvertible(version), .count: .stringConvertible(error.faults.count)])
        }
    }

    package func follow() async {
        while !Task.isCancelled {
            guard (try? await Task.sleep(for: .seconds(Self.pollSeconds))) != nil else { return }
            do {
                try await refresh()
                failures.recovered(.catalog)
            } catch {
                failures.failed(.catalog, error)
            }
        }
    }
}
