import Postgres

extension PostgresPool {
    /// Changes one row if it still has this lease. In `statement`, $1 is the row's id and $2 the lease.
    func change(
        _ id: PostgresParameter, leasedAs lease: Int64, by statement: PostgresStatement,
        _ more: [PostgresParameter] = []
    ) async throws {
        try await run { session in
            _ = try session.execute(statement, [id, .timestamptz(unixMicroseconds: lease)] + more)
        }
    }

    /// Returns the count in the statement's only row.
    package func count(
        _ name: StaticString, of statement: PostgresStatement, _ parameters: [PostgresParameter] = []
    ) async throws -> Int {
        try await run { try $0.count(name, of: statement, parameters) }
    }
}

extension PostgresSession {
    package func count(
        _ name: StaticString, of statement: PostgresStatement, _ parameters: [PostgresParameter] = []
    ) throws(PostgresError) -> Int {
        let rows = try execute(statement, parameters)
        return Int(rows.int8(0, try rows.column(name)) ?? 0)
    }
}
