import Administration
import ArgumentParser
import Fulfillment
import Ledger
import NamesAndTimes
import Postgres
import ReceiptdConfiguration

struct CatalogCommand: CommandGroup {
    static let configuration = CommandConfiguration(
        commandName: "catalog", abstract: "Checks, imports and shows the catalog of apps and products.",
        subcommands: [Check.self, Diff.self, Import.self, Show.self])

    struct Check: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "check", abstract: "Names every fault of a catalog file. Needs no settings and no database.")

        @Argument(help: "A YAML file.") var file: String

        func run() async throws {
            try await reporting {
                let apps = try CatalogDocument(file: file).catalog.apps
                let products = apps.values.reduce(0) { $0 + $1.products.count }
                print("no fault: apps \(apps.count), products \(products)")
            }
        }
    }

    struct Diff: DatabaseCommand {
        static let configuration = CommandConfiguration(
            commandName: "diff", abstract: "Shows the changes that an import of a catalog file would make.")

        @Argument(help: "A YAML file.") var file: String
        @OptionGroup var options: SettingsOptions

        func run(_ settings: Settings, in pool: PostgresPool) async throws {
            let document = try CatalogDocument(file: file)
            let difference = try document.difference(from: try await CatalogStore(pool: pool).newest())
            print(difference.text)
            if let names = difference.removedNames {
                print("the import would remove apps and needs --allow-removal: \(names)")
            }
        }
    }

    struct Import: OperatorCommand {
        static let configuration = CommandConfiguration(
            commandName: "import",
            abstract: "Checks a catalog file and makes it the catalog. Workers follow within 10 s.")

        static let requirements: Set<Settings.Requirement> = [.database]

        @Argument(help: "A YAML file.") var file: String
        @Flag(help: "Allow the import to remove apps that are missing from the file.") var allowRemoval = false
        @OptionGroup var options: SettingsOptions

        func run(_ settings: Settings) async throws {
            // The command reads the file first, so that it reports the file's faults even without the database.
            let document = try CatalogDocument(file: file)
            try await withSchema(settings.database) { pool in
                try await replace(in: CatalogStore(pool: pool), by: document)
            }
        }

        private func replace(in store: CatalogStore, by document: CatalogDocument) async throws {
            let version = try await store.importDocument(
                document.text, granting: document.catalog.appsGrantingMissedPurchases
            ) { [allowRemoval] replaced in
                let difference = try document.difference(from: replaced)
                print(difference.text)
                if let names = difference.removedNames, !allowRemoval {
                    throw CommandFailure(
                        "the import would remove apps and needs --allow-removal: \(names)",
                        code: CommandFailure.wrongSettings
                    )
                }
            }
            print("imported catalog \(version)")
        }
    }

    struct Show: DatabaseCommand {
        static let configuration = CommandConfiguration(
            commandName: "show", abstract: "Prints the current catalog, as you imported it.")

        @OptionGroup var options: SettingsOptions

        func run(_ settings: Settings, in pool: PostgresPool) async throws {
            guard let stored = try await CatalogStore(pool: pool).newest() else {
                throw CommandFailure("no catalog was imported yet: run `receiptd catalog import FILE`", code: 1)
            }
            print("# catalog \(stored.version), imported \(stored.importedAt.rfc3339)")
            print(stored.document, terminator: stored.document.hasSuffix("\n") ? "" : "\n")
        }
    }
}
