import Fulfillment
import Postgres

/// Claims, grants and outcomes of a batch in one statement, put together from the three that write them one after another.
/// Its parts see the tables as they were when it began, and run in the same order: the counts are read in that order.
struct InsertFreshBatch {
    static let statement = PostgresStatement(sql)

    private static var sql: String {
        let claims = StatementText(PackageResources.insert_claims_sql)
        let grants = StatementText(PackageResources.insert_grants_sql).renumbered(behind: claims.parameters)
        let outcomes = StatementText(PackageResources.insert_outcomes_sql)
            .renumbered(behind: claims.parameters + StatementText(PackageResources.insert_grants_sql).parameters)
        return """
            WITH owned AS (\(claims.text)), \(grants.with), \(outcomes.with)
            SELECT (SELECT count(*) FROM owned) AS owned, (SELECT count(*) FROM granted) AS granted,
                (SELECT count(*) FROM decided) AS decided, database_history() AS history;
            """
    }

    let claims: [ClaimRow]
    let grants: [GrantRow]
    let finishes: [FinishRow]
    let outcomes: InsertOutcomes

    /// The database that it was written in, and whether nothing of it was there before.
    func run(writer: Int32, in session: PostgresSession) throws -> (history: DatabaseHistory?, isFresh: Bool) {
        let rows = try session.execute(
            Self.statement,
            InsertClaims.parameters(claims) + InsertGrants.parameters(grants, others: finishes)
                + outcomes.parameters(writer: writer))
        let (owned, granted) = (try rows.column("owned"), try rows.column("granted"))
        let (decided, history) = (try rows.column("decided"), try rows.column("history"))
        let isFresh =
            rows.int8(0, owned) == Int64(claims.count) && rows.int8(0, granted) == Int64(grants.count)
            && rows.int8(0, decided) == Int64(outcomes.outcomes.count)
        return (rows.history(0, history), isFresh)
    }
}

/// The text of a statement, to be made part of another one.
struct StatementText {
    /// Without comments and its semicolon.
    let text: String

    init(_ file: [UInt8]) {
        let lines = LedgerSQL.text(file).split(separator: "\n").filter {
            !$0.drop { $0 == " " }.hasPrefix("--")
        }
        text = lines.joined(separator: "\n").trimmingSuffix(while: { $0 == ";" || $0.isWhitespace })
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
        guard text.hasPrefix("WITH "), let end = text.ranges(of: "\nSELECT ").last else { return text }
        return String(text.dropFirst(5)[..<end.lowerBound])
    }

    /// `$1` becomes `$(count + 1)`.
    func renumbered(behind count: Int) -> StatementText {
        StatementText(
            text: text.replacing(Self.parameter) { "$\((Int($0.output.1) ?? 0) + count)" })
    }

    private static var parameter: Regex<(Substring, Substring)> { /\$([0-9]+)/ }
}

extension String {
    fileprivate func trimmingSuffix(while isTrimmed: (Character) -> Bool) -> String {
        var rest = self[...]
        while let last = rest.last, isTrimmed(last) { rest.removeLast() }
        return String(rest)
    }
}
