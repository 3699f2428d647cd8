import Administration
import ArgumentParser
import Foundation
import Fulfillment
import Kafka
import Ledger
import Pipeline
import Postgres
import ReceiptdConfiguration

/// Records that are no submissions, or killed the worker: for an operator.
struct DeadLettersCommand: CommandGroup {
    static let configuration = CommandConfiguration(
        commandName: "dead-letters", abstract: "Records that could not be taken as submissions.",
        subcommands: [List.self, Redrive.self])

    struct List: OperatorCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "What the dead-letter topic holds, without the records themselves.")
        static let requirements: Set<Settings.Requirement> = [.kafka]
        /// Rows without `--limit`.
        static let page = 100

        @Flag(help: "One JSON document on standard output.") var json = false
        @Option(help: "Only those that name this app.") var bundle: String?
        @Option(help: "Only those with this reason.") var reason: DeadLetter.Reason?
        @Option(help: "At most so many, the latest.") var limit = Self.page
        @OptionGroup var options: SettingsOptions

        func validate() throws { try RowLimit.validate(limit) }

        func run(_ settings: Settings) async throws {
            // Its place and size are enough: a topic of large records must fit into memory.
            let wanted = DeadLetterFilter(bundleID: bundle, reason: reason)
            let letters = try await DeadLetterTopic(settings: settings.kafka)
                .compactMap { wanted.admits($0) ? $0.withoutRecord : nil }.sorted()
            let shown = Array(letters.suffix(limit))
            print(
                json
                    ? DeadLetterTable.json(shown, total: letters.count)
                    : DeadLetterTable.text(shown, total: letters.count, width: Terminal.outputWidth))
        }
    }

    struct Redrive: DatabaseCommand {
        static let configuration = CommandConfiguration(
            commandName: "redrive",
            abstract: "Puts dead letters back on the topic that they came from, each once.",
            discussion: "What this release and these settings would only set aside again is counted, and stays.")
        static let requirements: Set<Settings.Requirement> = [.kafka, .database]

        @Flag(help: "All of them, or all that --bundle and --reason leave: so it is without it, too.") var all = false
        @Option(help: "Only those that name this app.") var bundle: String?
        @Option(help: "Only those with this reason.") var reason: DeadLetter.Reason?
        @Option(help: "At most so many.") var limit: Int?
        @Flag(help: "Also those that were put back before.") var again = false
        @OptionGroup var operation: OperatorOptions
        @OptionGroup var options: SettingsOptions

        func validate() throws { try RowLimit.validate(limit) }

        func run(_ settings: Settings, in pool: PostgresPool) async throws {
            let catalog = try await StoredCatalog.latest(in: CatalogStore(pool: pool))
            let redrive = DeadLetterRedrive(
                kafka: settings.kafka, store: RedrivenStore(pool: pool), changes: ConsoleChanges(pool: pool),
                reading: RedriveReading(settings, catalog: catalog ?? Catalog(version: 0, apps: [])),
                filter: DeadLetterFilter(bundleID: bundle, reason: reason),
                options: .init(limit: limit, again: again, dryRun: operation.dryRun))
            print(try await redrive.run(by: operation.name))
        }
    }
}

extension DeadLetter.Reason: ExpressibleByArgument {}
