import ArgumentParser
import Foundation
import Fulfillment
import Ledger

struct CatalogCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "catalog", abstract: "The apps and products that are sold.", subcommands: [Import.self])

    struct Import: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "import", abstract: "Checks a catalog file and makes it the catalog. Workers follow within 10 s.")

        @Argument(help: "A YAML file.") var file: String
        @Flag(help: "Let apps vanish that the file does not have.") var allowRemoval = false
        @OptionGroup var options: SettingsOptions

        func run() async throws {
            try await reporting {
                let settings = try options.read(requiring: [.database])
                let (text, catalog) = try readCatalog()
                try await withDatabase(settings) { pool in
                    try await requireSchema(pool)
                    let store = CatalogStore(pool: pool)
                    let difference = CatalogDifference(old: try await current(in: store), new: catalog)
                    if !difference.removedApps.isEmpty, !allowRemoval {
                        throw CommandFailure(
                            "these apps would vanish, which needs --allow-removal: "
                                + difference.removedApps.map { ShownText.plain($0.text) }.joined(separator: ", "),
                            code: CommandFailure.wrongSettings)
                    }
                    let version = try await store.importDocument(text)
                    print(difference.isEmpty ? "nothing changes" : difference.lines.joined(separator: "\n"))
                    print("catalog \(version) is in force")
                }
            }
        }

        private func readCatalog() throws -> (text: String, catalog: Catalog) {
            do throws(CatalogFaults) {
                let text = try CatalogFile.load(file)
                return (text, try CatalogFile.parse(text, version: 0))
            } catch {
                let lines = error.faults.map { "\(file): \($0)" }
                throw CommandFailure(lines.joined(separator: "\n"), code: CatalogFaults.exitCode)
            }
        }

        private func current(in store: CatalogStore) async throws -> Catalog? {
            guard let version = try await store.latestVersion(), let stored = try await store.load(version: version) else {
                return nil
            }
            return try CatalogFile.parse(stored.document, version: version)
        }
    }
}
