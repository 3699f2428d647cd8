import Fulfillment
import Postgres

/// A batch's grants and its outcomes in one statement, put together from the two that write them one after another.
///
/// Those say `ON CONFLICT DO NOTHING`; of the joined ones only `lookingForConflicts` does (`ConflictWatch` says when it is used).
enum InsertGrantsAndOutcomes {
    static let statement = PostgresStatement(
        joined(
            StatementText(PackageResources.insert_grants_sql).failingOnConflict(in: "granted"),
            StatementText(PackageResources.insert_outcomes_sql).failingOnConflict(in: "decided", "queued", "proven")))
    static let lookingForConflicts = PostgresStatement(
        joined(StatementText(PackageResources.insert_grants_sql), StatementText(PackageResources.insert_outcomes_sql)))

    private static func joined(_ grants: StatementText, _ outcomes: StatementText) -> String {
        """
        WITH \(grants.with), \(outcomes.renumbered(behind: grants.parameters).with)
        SELECT (SELECT count(*) FROM granted) AS granted, (SELECT count(*) FROM decided) AS decided,
            database_history() AS history;
        """
    }

    /// How many were granted now, how many records had no outcome yet, and where.
    /// - Parameter looks: with `ON CONFLICT DO NOTHING`. Without it a row that is there already throws `Undone.conflict`.
    static func run(
        _ purchases: PurchaseRows, _ outcomes: InsertOutcomes, writer: Int32, looks: Bool, in session: PostgresSession
    ) throws -> (granted: Int, decided: Int, history: DatabaseHistory?) {
        let parameters =
            InsertGrants.parameters(purchases.grants, others: purchases.finishes) + outcomes.parameters(writer: writer)
        let rows: PostgresRows
        do {
            rows = try session.execute(looks ? lookingForConflicts : statement, parameters)
        } catch {
            guard error.sqlState == "23505", !looks else { throw error }
            throw DecisionBatchWrite.Undone.conflict
        }
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

    /// Without `ON CONFLICT DO NOTHING` in these of its common table expressions, each of which has one.
    func failingOnConflict(in names: String...) -> StatementText {
        var text = text
        for name in names {
            guard let start = text.firstRange(of: "\(name) AS (")?.upperBound,
                let conflict = text[start...].firstRange(of: "\n    ON CONFLICT DO NOTHING")
            else { continue }
            text.removeSubrange(conflict)
        }
        return StatementText(text: text)
    }

    /// `$1` becomes `$(count + 1)`.
    func renumbered(behind count: Int) -> StatementText {
        StatementText(
            text: text.replacing(Self.parameter) { "$\((Int($0.output.1) ?? 0) + count)" })
    }

    private static var parameter: Regex<(Substring, Substring)> { /\$([0-9]+)/ }
}
