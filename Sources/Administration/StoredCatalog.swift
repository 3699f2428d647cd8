import Fulfillment
import Ledger
import ReceiptdConfiguration

/// Reads the catalog that was imported last.
package enum StoredCatalog {
    /// Returns the newest catalog; nil before the first import.
    package static func latest(in store: CatalogStore) async throws -> Catalog? {
        guard let version = try await store.latestVersion(), let stored = try await store.load(version: version)
        else { return nil }
        return try parsed(stored)
    }

    /// Parses a stored catalog. This function is not inlined: the optimizer of Swift 6.3 crashes on a typed throw that
    /// is inlined into an asynchronous function.
    @inline(never)
    private static func parsed(_ stored: CatalogStore.Stored) throws -> Catalog {
        try CatalogFile.parse(stored.document, version: stored.version)
    }
}
