import Fulfillment
import Ledger
import NamesAndTimes
import ReceiptdConfiguration

/// A catalog file that has no fault.
package struct CatalogDocument: Sendable {
    package let text: String
    package let catalog: Catalog

    /// Reads the file. Throws a `CommandFailure` that names every fault.
    package init(file: String) throws {
        do throws(CatalogFaults) {
            text = try CatalogFile.load(file)
            catalog = try CatalogFile.parse(text, version: 0)
        } catch {
            throw CommandFailure(error.lines(of: file).joined(separator: "\n"), code: CatalogFaults.exitCode)
        }
    }

    /// Returns the changes that an import of this catalog makes to a stored catalog. This function is not inlined: the
    /// optimizer of Swift 6.3 crashes on a typed throw that is inlined into an asynchronous function.
    @inline(never)
    package func difference(from stored: CatalogStore.Stored?) throws -> CatalogDifference {
        CatalogDifference(
            old: try stored.map { try CatalogFile.parse($0.document, version: $0.version) }, new: catalog)
    }
}

extension CatalogDifference {
    package var text: String { isEmpty ? "nothing changes" : lines.joined(separator: "\n") }

    /// The bundle ids of the apps that the new catalog lacks; nil if there are none.
    package var removedNames: String? {
        removedApps.isEmpty ? nil : removedApps.map { ShownText.plain($0.text) }.joined(separator: ", ")
    }
}

extension CatalogStore {
    /// Returns the newest catalog; nil before the first import.
    package func newest() async throws -> Stored? {
        guard let version = try await latestVersion() else { return nil }
        return try await load(version: version)
    }
}
