import ArgumentParser
import Fulfillment
import Ledger

struct InspectCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "inspect", abstract: "All that is known of a submission, a transaction or a player.")

    @Argument(help: "A submission id, a transaction id (original ones too) or a player id.") var id: String
    @Flag(help: "One JSON document on standard output.") var json = false
    @Option(help: "How many days back decided submissions are searched; each costs a scan of its day.") var days = 2
    @Option(help: "Rows of each kind, newest first.") var limit = 100
    @OptionGroup var options: SettingsOptions

    func validate() throws {
        guard days >= 0, limit >= 1 else { throw ValidationError("--days is 0 or more, --limit 1 or more.") }
    }

    func run() async throws {
        try await reporting {
            let settings = try options.read(requiring: [.database])
            try await withDatabase(settings) { pool in
                try await requireSchema(pool)
                let inspection = try await Inspection.of(id, days: days, limit: limit, in: pool)
                print(json ? InspectionText.json(inspection, of: id) : InspectionText.tables(inspection, of: id))
            }
        }
    }
}

/// What an inspection found, as JSON or as one table for each kind of row.
enum InspectionText {
    static func json(_ inspection: Inspection, of id: String) -> String {
        var json = JSONWriter(capacity: 4096)
        json.beginObject()
        json.member("id", id)
        for section in inspection.sections {
            json.name(section.name)
            json.value(.array(section.rows))
        }
        json.endObject()
        return String(decoding: json.bytes, as: UTF8.self)
    }

    static func tables(_ inspection: Inspection, of id: String) -> String {
        let known = inspection.sections.filter { !$0.rows.isEmpty }
        if known.isEmpty { return "nothing is known of \(ShownText.quoted(id))\n\(untold)" }
        let tables = known.map { section in
            let columns = columns(section)
            let rows = section.rows.map { row in columns.map { cell(row[$0]) } }
            let title = section.name.replacing("_", with: " ") + " (\(section.rows.count))"
            return ([title] + TextTable.lines(columns.map { $0.uppercased() }, rows).map { "  " + $0 })
                .joined(separator: "\n")
        }.joined(separator: "\n\n")
        // A player's decided submissions may be all there is, and yet not all that came.
        return known.contains { $0.name == "outcomes" } ? tables : tables + "\n\n" + untold
    }

    private static let untold = """
        Refused without asking anyone (another app's, forged, unreadable, or an unknown app): in no table. Its answer is on
        the outcomes topic.
        """

    /// Those of which any row has a value.
    private static func columns(_ section: Inspection.Section) -> [String] {
        guard case .object(let members)? = section.rows.first else { return [] }
        return members.map(\.name).filter { name in section.rows.contains { cell($0[name]) != "-" } }
    }

    private static func cell(_ value: JSONValue?) -> String {
        switch value {
        case nil, .null: "-"
        case .bool(let isTrue): isTrue ? "yes" : "-"
        case .number(let text): text
        case .string(let text): ShownText.plain(text)
        case .array(let elements):
            elements.isEmpty ? "-" : elements.map { cell($0["transaction_id"] ?? $0) }.joined(separator: ",")
        case .object: "…"
        }
    }
}
