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

/// The commands about dead letters: records that are not valid, or that crashed workers.
struct DeadLettersCommand: CommandGroup {
    static let configuration = CommandConfiguration(
        commandName: "dead-letters", abstract: "Lists dead letters, and publishes them again.",
        subcommands: [List.self, Redrive.self])

    struct List: OperatorCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "Lists the dead letters, without the records themselves.")
        static let requirements: Set<Settings.Requirement> = [.kafka]

        @Flag(help: "Print one JSON document on standard output.") var json = false
        @OptionGroup var letters: DeadLetterOptions
        @Option(help: "Show at most this many rows, newest first.") var limit = RowLimit.page
        @OptionGroup var options: SettingsOptions

        func validate() throws { try RowLimit.validate(limit) }

        func run(_ settings: Settings) async throws {
            // Only positions and sizes stay in memory, so that a topic with large records does not fill the memory.
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
            abstract: """
                Puts dead letters back on the topics they came from. Skips those put back before, unless --again is \
                given.
                """,
            discussion: """
                Skips each record that would become a dead letter again under this release, these settings and the \
                catalog, and prints how many it skipped.
                """)
        static let requirements: Set<Settings.Requirement> = [.kafka, .database]

        @Flag(help: "This option has no effect: redrive always publishes every dead letter that the options choose.")
        var all = false
        @OptionGroup var letters: DeadLetterOptions
        @Option(help: "Publish at most this many dead letters.") var limit: Int?
        @Flag(help: "Include dead letters that redrive has published before.") var again = false
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

struct DeadLetterOptions: ParsableArguments {
    @Option(help: "Only dead letters of this app.") var bundle: String?
    @Option(help: "Only dead letters with this reason.") var reason: DeadLetter.Reason?
    @Option(help: "Only dead letters of this player. If a record names no player, its key counts.") var player: String?
    @Option(help: ArgumentHelp("Only dead letters set aside since this time (RFC 3339).", valueName: "time")) var since:
        Timestamp?
    @Option(help: ArgumentHelp("Only dead letters set aside before this time (RFC 3339).", valueName: "time"))
    var before: Timestamp?

    var filter: DeadLetterFilter {
        DeadLetterFilter(bundleID: bundle, reason: reason, playerID: player, since: since, until: before)
    }
}
