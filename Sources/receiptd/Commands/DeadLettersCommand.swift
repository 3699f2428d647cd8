import ArgumentParser
import Foundation
import Fulfillment
import Kafka
import Ledger

/// Records that are no submissions, or killed the worker: for an operator.
struct DeadLettersCommand: CommandGroup {
    static let configuration = CommandConfiguration(
        commandName: "dead-letters", abstract: "Records that could not be taken as submissions.",
        subcommands: [List.self, Redrive.self])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "What the dead-letter topic holds, without the records themselves.")
        /// Rows without `--limit`.
        static let page = 100

        @Flag(help: "One JSON document on standard output.") var json = false
        @Option(help: "Only those that name this app.") var bundle: String?
        @Option(help: "Only those with this reason.") var reason: DeadLetter.Reason?
        @Option(help: "At most so many, the latest.") var limit = Self.page
        @OptionGroup var options: SettingsOptions

        func validate() throws { try RowLimit.validate(limit) }

        func run() async throws {
            try await reporting {
                let settings = try options.read(requiring: [.kafka])
                // Its place and size are enough: a topic of large records must fit into memory.
                let wanted = DeadLetterFilter(bundleID: bundle, reason: reason)
                let letters = try await DeadLetterTopic(settings: settings.kafka)
                    .compactMap { wanted.admits($0) ? $0.withoutRecord : nil }.sorted()
                let shown = Array(letters.suffix(limit))
                print(
                    json
                        ? DeadLetterTable.json(shown, total: letters.count)
                        : DeadLetterTable.text(shown, total: letters.count))
            }
        }
    }

    struct Redrive: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "redrive",
            abstract: "Puts dead letters back on the submissions topic, each once.")

        @Flag(help: "All of them, or all that --bundle and --reason leave: so it is without it, too.") var all = false
        @Option(help: "Only those that name this app.") var bundle: String?
        @Option(help: "Only those with this reason.") var reason: DeadLetter.Reason?
        @Option(help: "At most so many.") var limit: Int?
        @Flag(help: "Also those that were put back before.") var again = false
        @OptionGroup var operation: OperatorOptions
        @OptionGroup var options: SettingsOptions

        func validate() throws { try RowLimit.validate(limit) }

        func run() async throws {
            try await reporting {
                let settings = try options.read(requiring: [.kafka, .database])
                try await withDatabase(settings) { pool in
                    try await requireSchema(pool)
                    let redrive = DeadLetterRedrive(
                        kafka: settings.kafka, store: RedrivenStore(pool: pool),
                        filter: DeadLetterFilter(bundleID: bundle, reason: reason), limit: limit, again: again,
                        dryRun: operation.dryRun)
                    print(try await redrive.run())
                }
            }
        }
    }
}

/// Which dead letters an operator means. Nil means any.
struct DeadLetterFilter: Sendable {
    var bundleID: String?
    var reason: DeadLetter.Reason?

    func admits(_ letter: StoredDeadLetter) -> Bool {
        (reason == nil || letter.reason == reason?.rawValue)
            && (bundleID == nil || letter.owner.bundleID.map { Identifier($0) } == bundleID.map { Identifier($0) })
    }
}

extension DeadLetter.Reason: ExpressibleByArgument {}
