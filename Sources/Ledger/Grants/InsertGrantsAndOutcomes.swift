import Fulfillment
import Postgres

/// Writes a batch's grants and its outcomes in one statement.
enum InsertGrantsAndOutcomes {
    private static let statement = LedgerSQL.statement(PackageResources.insert_grants_and_outcomes_sql)
    /// The same statement with `ON CONFLICT DO NOTHING`. `ConflictWatch` decides when a batch uses it.
    private static let lookingForConflicts = LedgerSQL.statement(
        PackageResources.insert_missing_grants_and_outcomes_sql)

    /// Returns the number of new grants, the number of records that had no outcome before, and the database's history.
    /// - Parameter looks: whether to use `ON CONFLICT DO NOTHING`. If false, an existing row throws `Undone.conflict`.
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
