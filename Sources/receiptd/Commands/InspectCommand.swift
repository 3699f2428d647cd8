import Administration
import ArgumentParser
import Encodings
import Foundation
import Fulfillment
import Ledger
import Postgres
import ReceiptdConfiguration

struct InspectCommand: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "inspect",
        abstract: "Shows all that is known of a submission, a transaction, a player, an order or an event.")

    @Argument(help: "The id of a submission, a transaction (original ones too), a player, an order or an event.")
    var id: String
    @Flag(help: "One JSON document on standard output.") var json = false
    @Option(help: "How many days back to search decided submissions; each costs a scan of its day.") var days = 2
    @Option(help: "Rows of each kind, newest first.") var limit = 100
    @Option(help: "How many records to read from each partition in Kafka; ten times as many for a player's events.")
    var records = KafkaSearch.defaultRecords
    @Option(help: "The longest time to search Kafka.") var seconds = 20.0
    @OptionGroup var options: SettingsOptions

    func validate() throws {
        guard days >= 0, limit >= 1 else { throw ValidationError("--days is 0 or more, --limit 1 or more.") }
        guard (0...10_000_000).contains(records), (0...3600).contains(seconds) else {
            throw ValidationError("--records is 0 to 10000000, --seconds 0 to 3600.")
        }
    }

    func run(_ settings: Settings, in pool: PostgresPool) async throws {
        let summary = try await summary(settings, pool)
        print(
            json
                ? InspectionText.json(summary)
                : InspectionText.tables(summary, width: Terminal.outputWidth))
    }

    private func summary(_ settings: Settings, _ pool: PostgresPool) async throws -> InspectionSummary {
        let search = KafkaSearch(
            settings: settings.kafka, id: SearchedID(id, roots: settings.apple.roots), records: records,
            seconds: seconds)
        let first = try await Inspection.of(id, days: days, limit: limit, in: pool)
        let kafka = await search.run(isKnown: first.sections.contains { !$0.rows.isEmpty })
        // What was decided in between is not told as waiting.
        let inspection =
            kafka.waiting.isEmpty ? first : try await Inspection.of(id, days: days, limit: limit, in: pool)
        var summary = InspectionSummary(id: id, inspection: inspection, kafka: kafka)
        if !summary.undecided.isEmpty { summary.apple = await AppleWord.lines(settings.http, in: pool) }
        return summary
    }
}

/// What an inspection found, as JSON or as one table for each kind of row.
enum InspectionText {
    private static let indent = "  "

    static func json(_ summary: InspectionSummary) -> String {
        var json = JSONWriter(capacity: 4096)
        json.beginObject()
        json.member("id", summary.id)
        json.name("summary")
        json.value(.array(summary.sentences.map { .string($0) }))
        for section in summary.inspection.sections.map({ ($0.name, $0.rows) }) + summary.sections {
            json.name(section.0)
            json.value(.array(section.1))
        }
        json.endObject()
        return String(decoding: json.bytes, as: UTF8.self)
    }

    /// - Parameter width: of the terminal. Long values are cut for eyes, never for a pipe.
    static func tables(_ summary: InspectionSummary, width: Int?) -> String {
        let tables = summary.inspection.sections.filter { !$0.rows.isEmpty }.map { section in
            let columns = columns(section)
            let rows = section.rows.map { row in columns.map { cell(row[$0], isCut: width != nil) } }
            let title = section.name.replacing("_", with: " ") + " (\(section.rows.count))"
            let lines = TextTable.lines(columns.map { $0.uppercased() }, rows, width: width.map { $0 - indent.count })
            return ([title] + lines.map { indent + $0 }).joined(separator: "\n")
        }
        return ([summary.sentences.joined(separator: "\n")] + tables).joined(separator: "\n\n")
    }

    /// Those of which any row has a value.
    private static func columns(_ section: Inspection.Section) -> [String] {
        guard case .object(let members)? = section.rows.first else { return [] }
        return members.map(\.name).filter { name in section.rows.contains { cell($0[name], isCut: true) != "-" } }
    }

    private static func cell(_ value: JSONValue?, isCut: Bool) -> String {
        switch value {
        case nil, .null: "-"
        case .bool(let isTrue): isTrue ? "yes" : "-"
        case .number(let text): text
        case .string(let text): ShownText.plain(text, limit: isCut ? ShownText.maximumLength : .max)
        case .array(let elements):
            elements.isEmpty
                ? "-" : elements.map { cell($0["transaction_id"] ?? $0, isCut: isCut) }.joined(separator: ",")
        case .object: "…"
        }
    }
}
