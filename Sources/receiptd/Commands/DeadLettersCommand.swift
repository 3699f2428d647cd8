import ArgumentParser
import Foundation
import Fulfillment
import Kafka
import Ledger

/// Records that are no submissions, or killed the worker: for an operator.
struct DeadLettersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dead-letters", abstract: "Records that could not be taken as submissions.",
        subcommands: [List.self, Redrive.self])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "What the dead-letter topic holds, without the records themselves.")
        /// Rows without `--limit`.
        static let page = 100

        @Flag(help: "One JSON document on standard output.") var json = false
        @Option(help: "Only those with this reason.") var reason: DeadLetter.Reason?
        @Option(help: "At most so many, the latest.") var limit = Self.page
        @OptionGroup var options: SettingsOptions

        func validate() throws {
            guard limit > 0 else { throw ValidationError("--limit is a number from 1 up.") }
        }

        func run() async throws {
            try await reporting {
                let settings = try options.read(requiring: [.kafka])
                // Its place and size are enough: a topic of large records must fit into memory.
                let wanted = reason?.rawValue
                let letters = try await DeadLetterTopic(settings: settings.kafka)
                    .compactMap { wanted == nil || $0.reason == wanted ? $0.withoutRecord : nil }.sorted()
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

        @Option(help: "Only those with this reason.") var reason: DeadLetter.Reason?
        @Flag(help: "Also those that were put back before.") var again = false
        @Flag(help: "Say what would be done, and do nothing.") var dryRun = false
        @OptionGroup var options: SettingsOptions

        func run() async throws {
            try await reporting {
                let settings = try options.read(requiring: [.kafka, .database])
                try await withDatabase(settings) { pool in
                    try await requireSchema(pool)
                    let redrive = DeadLetterRedrive(
                        kafka: settings.kafka, store: RedrivenStore(pool: pool), reason: reason, again: again,
                        dryRun: dryRun)
                    print(try await redrive.run())
                }
            }
        }
    }
}

extension DeadLetter.Reason: ExpressibleByArgument {}
