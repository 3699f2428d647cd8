import Fulfillment
import Postgres

/// A batch's grants and its outcomes in one statement, put together from the two that write them one after another.
enum InsertGrantsAndOutcomes {
    static let statement = PostgresStatement(sql)

    private static var sql: String {
        let grants = StatementText(PackageResources.insert_grants_sql)
        let outcomes = StatementText(PackageResources.insert_outcomes_sql).renumbered(behind: grants.parameters)
        return """
            WITH \(grants.with), \(outcomes.with)
            SELECT (SELECT count(*) FROM granted) AS granted, (SELECT count(*) FROM decided) AS decided,
                database_history() AS history;
            """
    }

    /// How many were granted now, how many records had no outcome yet, and where.
    static func run(
        _ purchases: PurchaseRows, _ outcomes: InsertOutcomes, writer: Int32, in session: PostgresSession
    ) throws -> (granted: Int, decided: Int, history: DatabaseHistory?) {
        let rows = try session.execute(
            statement,
            InsertGrants.parameters(purchases.grants, others: purchases.finishes) + outcomes.parameters(writer: writer))
        let granted = rows.int8(0, try rows.column("granted")) ?? 0
        let decided = rows.int8(0, try rows.column("decided")) ?? 0
        return (Int(granted), Int(decided), rows.history(0, try rows.column("history")))
    }
}

/// The text of a statement that begins with WITH, to be made part of another one.
struct StatementText {
    /// Without its comments.
    let text: String

    init(_ file: [UInt8]) {
        let lines = LedgerSQL.text(file).split(separator: "\n").filter {
            !$0.drop { $0 == " " }.hasPrefix("--")
        }
        text = lines.joined(separator: "\n")
    }

    private init(text: String) {
        self.text = text
    }

    /// How many parameters it has.
    var parameters: Int {
        text.matches(of: Self.parameter).compactMap { Int($0.output.1) }.max() ?? 0
    }

    /// Its common table expressions: what is between WITH and the last SELECT, the only one without indent.
    var with: String {
        guard let end = text.ranges(of: "\nSELECT ").last else { return text }
        return String(text.dropFirst(5)[..<end.lowerBound])
    }

    /// `$1` becomes `$(count + 1)`.
    func renumbered(behind count: Int) -> StatementText {
        StatementText(
            text: text.replacing(Self.parameter) { "$\((Int($0.output.1) ?? 0) + count)" })
    }

    private static var parameter: Regex<(Substring, Substring)> { /\$([0-9]+)/ }
}
