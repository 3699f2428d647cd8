import Administration
import ArgumentParser
import BackOffice
import Foundation
import Fulfillment
import Kafka
import Ledger
import NamesAndTimes
import Pipeline
import Postgres
import ReceiptdConfiguration

/// Records that are no submissions, or killed the worker: for an operator.
struct DeadLettersCommand: CommandGroup {
    static let configuration = CommandConfiguration(
        commandName: "dead-letters", abstract: "Records that are no submissions.",
        subcommands: [List.self, Redrive.self])

    struct List: OperatorCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "Lists the dead letters, without the records themselves.")
        static let requirements: Set<Settings.Requirement> = [.kafka]

        @Flag(help: "One JSON document on standard output.") var json = false
        @OptionGroup var letters: DeadLetterOptions
        @Option(help: "The most rows to show, latest first.") var limit = RowLimit.page
        @OptionGroup var options: SettingsOptions

        func validate() throws { try RowLimit.validate(limit) }

        func run(_ settings: Settings) async throws {
            // The places and sizes of the letters are enough: a topic of large records must fit into memory.
            let wanted = letters.filter
            let letters = try await DeadLetterTopic(settings: settings.kafka)
                .compactMap { wanted.admits($0) ? $0.withoutRecord : nil }.sorted()
            let shown = Array(letters.suffix(limit))
            DeadLetterTable.print(shown, total: letters.count, asJSON: json)
        }
    }

    struct Redrive: DatabaseCommand {
        static let configuration = CommandConfiguration(
            commandName: "redrive",
            abstract: "Puts dead letters back on the topic that they came from, each once.",
            discussion: "Counts and leaves alone what this release and these settings would make a dead letter again.")
        static let requirements: Set<Settings.Requirement> = [.kafka, .database]

        @Flag(help: "Accepted for symmetry: redrive always takes all that the options choose.") var all = false
        @OptionGroup var letters: DeadLetterOptions
        @Option(help: "Put back at most this many.") var limit: Int?
        @Flag(help: "Include records that were put back before.") var again = false
        @OptionGroup var operation: OperatorOptions
        @OptionGroup var options: SettingsOptions

        func validate() throws { try RowLimit.validate(limit) }

        func run(_ settings: Settings, in pool: PostgresPool) async throws {
            let catalog = try await StoredCatalog.latest(in: CatalogStore(pool: pool))
            let redrive = DeadLetterRedrive(
                kafka: settings.kafka, store: RedrivenStore(pool: pool), changes: ConsoleChanges(pool: pool),
                reading: RedriveReading(settings, catalog: catalog ?? Catalog(version: 0, apps: [])),
                filter: letters.filter,
                options: .init(limit: limit, again: again, dryRun: operation.dryRun))
            print(try await redrive.run(by: operation.name))
        }
    }
}

/// Which dead letters.
struct DeadLetterOptions: ParsableArguments {
    @Option(help: "Only those that name this app.") var bundle: String?
    @Option(help: "Only those with this reason.") var reason: DeadLetter.Reason?
    @Option(help: "Only those of this player, or with this key where they name no player.") var player: String?
    @Option(help: ArgumentHelp("Only those set aside since then, RFC 3339.", valueName: "time")) var since: Timestamp?
    @Option(help: ArgumentHelp("Only those set aside before then, RFC 3339.", valueName: "time")) var before: Timestamp?

    var filter: DeadLetterFilter {
        DeadLetterFilter(bundleID: bundle, reason: reason, playerID: player, since: since, until: before)
    }
}
