import Fulfillment
import Ledger
import Logging
import Operations
import ReceiptdConfiguration
import Synchronization

/// Keeps the newest catalog (the studio's apps, products and policies) in memory. Every few seconds it looks in the
/// database for a newer catalog.
package final class CatalogWatch: Sendable {
    /// The seconds between two look-ups. The contract allows twice this time between a catalog's import and its effect.
    static let pollSeconds = 2.0

    /// A catalog version that this release cannot read, because a newer release imported it.
    private struct Unreadable {
        let version: Int64
        let faultCount: Int

        var words: String {
            let faults = faultCount == 1 ? "1 fault" : "\(faultCount) faults"
            return "this release cannot read catalog version \(version): it finds \(faults)"
        }
    }

    private struct State {
        var catalog: Catalog?
        /// The newest version, if this release cannot read it. It is stored, so that the watch parses and logs the
        /// version only once.
        var unreadable: Unreadable?
    }

    private let store: CatalogStore
    private let logger: Logger
    private let failures: Failures
    private let inForce: @Sendable (Catalog) -> Void
    private let state = Mutex(State())

    /// - Parameter inForce: called with each catalog that takes effect.
    package init(
        store: CatalogStore, logger: Logger, failures: Failures = Failures(),
        inForce: @escaping @Sendable (Catalog) -> Void = { _ in }
    ) {
        self.store = store
        self.logger = logger
        self.failures = failures
        self.inForce = inForce
    }

    /// The catalog with which the worker starts, or why the worker still waits for a catalog.
    package enum Awaited: Sendable {
        case catalog(Catalog)
        /// The reason why there is no catalog, and the remedy for the operator.
        case missing(String)
    }

    package var awaited: Awaited {
        state.withLock { state in
            if let catalog = state.catalog { return .catalog(catalog) }
            guard let unreadable = state.unreadable else {
                return .missing("no catalog yet: run `receiptd catalog import FILE`")
            }
            // This release's `catalog import` cannot help: it would have to compare the file with the unreadable
            // catalog.
            return .missing(
                "\(unreadable.words): run the release that imported it, or import another catalog with that release")
        }
    }

    /// Returns the newest readable catalog. Returns `first`, with which the worker started, if the watch has read none.
    package func newest(since first: Catalog) -> Catalog { state.withLock { $0.catalog ?? first } }

    /// Reads the newest catalog once. Throws if PostgreSQL cannot be reached; the watch then keeps its catalog.
    package func refresh() async throws {
        let (known, unreadable) = state.withLock { ($0.catalog?.version, $0.unreadable?.version) }
        guard let newest = try await store.latestVersion(), newest != known else {
            // If there was an unreadable version, a restore of the database has removed it.
            return state.withLock { $0.unreadable = nil }
        }
        guard newest != unreadable, let document = try await store.load(version: newest) else { return }
        do throws(CatalogFaults) {
            let catalog = try CatalogFile.parse(document.document, version: newest)
            state.withLock { $0 = State(catalog: catalog) }
            inForce(catalog)
            logger.info(
                "the worker loaded a catalog",
                [.version: .stringConvertible(newest), .count: .stringConvertible(catalog.apps.count)])
        } catch {
            let count = error.faults.count
            state.withLock { $0.unreadable = Unreadable(version: newest, faultCount: count) }
            logger.error(
                "this release cannot read the newest catalog",
                [.version: .stringConvertible(newest), .count: .stringConvertible(count)])
        }
    }

    package func follow() async {
        while !Task.isCancelled {
            guard (try? await Task.sleep(for: .seconds(Self.pollSeconds))) != nil else { return }
            do {
                try await refresh()
                report()
            } catch {
                failures.failed(.catalog, error)
            }
        }
    }

    /// Reports whether this release can read the newest catalog. The caller must have reached PostgreSQL just before,
    /// because this function may report that PostgreSQL works again.
    private func report() {
        guard let unreadable = state.withLock({ $0.unreadable }) else { return failures.recovered(.catalog) }
        failures.recovered(.postgresql)
        failures.failed(.catalog, "\(unreadable.words); the worker keeps the previous catalog")
    }
}
