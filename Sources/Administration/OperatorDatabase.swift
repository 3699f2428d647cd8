import Ledger
import Postgres
import ReceiptdConfiguration

/// Opens the database for one command. Out of reach is exit 69; a refusal that only other settings or rights end is 78.
/// - Parameter sessions: at most so many at a time.
package func withDatabase<Value>(
    _ database: DatabaseSettings, sessions: Int = 1, _ body: (PostgresPool) async throws -> Value
) async throws -> Value {
    let pool = PostgresPool(configuration: database.configuration, size: sessions)
    do {
        let value = try await body(pool)
        await pool.close()
        return value
    } catch let error as PostgresError {
        await pool.close()
        throw CommandFailure(error)
    } catch let error as UnsuitableDatabase {
        await pool.close()
        throw CommandFailure(error.description, code: CommandFailure.wrongSettings)
    } catch {
        await pool.close()
        throw error
    }
}

/// The same, where the schema is what this program needs. Exit 69 where it is not, and 78 where no schema could mend it.
package func withSchema<Value>(
    _ database: DatabaseSettings, sessions: Int = 1, _ body: (PostgresPool) async throws -> Value
) async throws -> Value {
    try await withDatabase(database, sessions: sessions) { pool in
        try await pool.run { try DatabaseEncoding.require(in: $0) }
        if let reason = try await pool.run({ try Schema.check($0) }).unreadiness {
            throw CommandFailure(reason, code: CommandFailure.unavailable)
        }
        return try await body(pool)
    }
}
