import Administration
import ArgumentParser
import BackOffice
import Encodings
import Foundation
import Fulfillment
import NamesAndTimes
import Postgres
import ReceiptdConfiguration

struct InspectCommand: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "inspect",
        abstract: "Shows what receiptd knows about a submission, transaction, player, order or event.")

    @Argument(help: "The id of a submission, transaction or original transaction, player, order or event.")
    var id: String?
    @Option(help: "Ask Apple for the transactions of this order number from Apple's mail, in place of an id.")
    var appleOrder: String?
    @Flag(help: "Print one JSON document on standard output.") var json = false
    @Option(help: "Search the decided submissions of this many days. Each day costs a scan of its partition.")
    var days = 2
    @Option(help: "Show at most this many rows of each kind, newest first.") var limit = 100
    @Option(help: "Show this page of a player's rows. Each page has --limit rows; the first page is 1.") var page = 1
    @Option(help: "Read at most this many records of each Kafka partition, ten times as many for a player's events.")
    var records = KafkaSearch.defaultRecords
    @Option(help: "Search Kafka for at most this many seconds.") var seconds = 20.0
    @OptionGroup var options: SettingsOptions

    func validate() throws {
        guard (id == nil) != (appleOrder == nil), id != "", appleOrder != "" else {
            throw ValidationError("Give an id, or --apple-order and an order number.")
        }
        guard days >= 0, (1...1_000_000).contains(limit), (1...1_000_000).contains(page) else {
            throw ValidationError("--days must be 0 or more; --limit and --page must be 1 or more.")
        }
        guard (0...10_000_000).contains(records), (0...3600).contains(seconds) else {
            throw ValidationError("--records must be 0 to 10000000, and --seconds 0 to 3600.")
        }
    }

    func run(_ settings: Settings, in pool: PostgresPool) async throws {
        if let appleOrder { return try await show(order: appleOrder, settings, pool) }
        let summary = try await summary(of: id ?? "", settings, pool)
        print(
            json
                ? InspectionText.json(summary)
                : InspectionText.tables(summary, width: Terminal.outputWidth))
    }

    private func show(order: String, _ settings: Settings, _ pool: PostgresPool) async throws {
        var found: [(apple: String, summary: InspectionSummary)] = []
        for transaction in try await AppleOrder(settings, options.secrets, in: pool).transactions(of: order) {
            let id = transaction.purchase.transactionID.text
            found.append((AppleOrder.sentence(transaction), try await summary(of: id, settings, pool)))
        }
        print(
            json ? InspectionText.json(order: order, found) : InspectionText.tables(found, width: Terminal.outputWidth))
    }

    private func summary(
        of id: String, _ settings: Settings, _ pool: PostgresPool
    ) async throws -> InspectionSummary {
        let search = KafkaSearch(
            settings: settings.kafka, id: SearchedID(id, roots: settings.apple.roots), records: records,
            seconds: seconds)
        func read() async throws -> Inspection {
            try await Inspection.of(id, days: days, limit: limit, skipping: (page - 1) * limit, in: pool)
        }
        let first = try await read()
        let kafka = await search.run(
            isKnown: first.sections.contains { !$0.rows.isEmpty }, players: first.players)
        // A worker may have decided a submission during the search in Kafka. The second read finds the outcome.
        let inspection = kafka.waiting.isEmpty ? first : try await read()
        var summary = InspectionSummary(id: id, inspection: inspection, kafka: kafka)
        if !summary.undecided.isEmpty { summary.apple = await AppleWord.lines(settings.http, in: pool) }
        return summary
    }
}
