import Administration
import ArgumentParser
import Foundation
import Fulfillment
import Ledger
import Postgres
import ReceiptdConfiguration

struct CatalogCommand: CommandGroup {
    static let configuration = CommandConfiguration(
        commandName: "catalog", abstract: "The apps and products that are sold.", subcommands: [Import.self])

    struct Import: OperatorCommand {
        static let configuration = CommandConfiguration(
            commandName: "import",
            abstract: "Checks a catalog file and makes it the catalog. Workers follow within 10 s.")

        static let requirements: Set<Settings.Requirement> = [.database]

        @Argument(help: "A YAML file.") var file: String
        @Flag(help: "Let apps vanish that the file does not have.") var allowRemoval = false
        @OptionGroup var options: SettingsOptions

        func run(_ settings: Settings) async throws {
            let (text, catalog) = try readCatalog()
            try await withSchema(settings.database) { pool in
                try await replace(in: CatalogStore(pool: pool), text: text, by: catalog)
            }
        }

        private func replace(in store: CatalogStore, text: String, by catalog: Catalog) async throws {
            let difference = try difference(to: catalog, from: try await newest(in: store))
            let version = try await store.importDocument(text)
            print(difference.isEmpty ? "nothing changes" : difference.lines.joined(separator: "\n"))
            print("catalog \(version) is in force")
        }

        private func readCatalog() throws -> (text: String, catalog: Catalog) {
            do throws(CatalogFaults) {
                let text = try CatalogFile.load(file)
                return (text, try CatalogFile.parse(text, version: 0))
            } catch {
                throw CommandFailure(
                    error.lines(of: file).joined(separator: "\n"), code: CatalogFaults.exitCode)
            }
        }

        private func newest(in store: CatalogStore) async throws -> CatalogStore.Stored? {
            guard let version = try await store.latestVersion() else { return nil }
            return try await store.load(version: version)
        }

        /// Not inlined: the optimizer of Swift 6.3 crashes on a typed throw inlined into an asynchronous function.
        @inline(never)
        private func difference(to new: Catalog, from stored: CatalogStore.Stored?) throws -> CatalogDifference {
            let old = try stored.map { try CatalogFile.parse($0.document, version: $0.version) }
            let difference = CatalogDifference(old: old, new: new)
            if !difference.removedApps.isEmpty, !allowRemoval {
                let names = difference.removedApps.map { ShownText.plain($0.text) }.joined(separator: ", ")
                throw CommandFailure(
                    "these apps would vanish, which needs --allow-removal: \(names)", code: CommandFailure.wrongSettings
                )
            }
            return difference
        }
    }
}
