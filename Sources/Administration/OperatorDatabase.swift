import Ledger
import Postgres
import ReceiptdConfiguration

/// Opens the database for one command. Throws a failure with exit code 69 if PostgreSQL cannot be reached, 78 if
/// PostgreSQL refuses the settings.
/// - Parameter sessions: the most sessions at the same time.
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

/// Opens the database, and checks that this program can use its schema. Throws a failure with exit code 69 if the
/// program cannot use the schema, 78 if the database's encoding is unsuitable.
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
