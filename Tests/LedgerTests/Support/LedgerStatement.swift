import Foundation
import Fulfillment
import Postgres

/// A statement of the ledger's, to look at its plan.
enum LedgerStatement {
    static func text(_ name: String) throws -> String {
        let file = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Sources/Ledger/SQL/\(name).sql")
        return try String(contentsOf: file, encoding: .utf8)
    }
}

extension LedgerDatabase {
    /// The plan that serves any parameters, as PostgreSQL tells it.
    func plan(_ statement: String, types: String, parameters: String, analyze: Bool = false) async throws -> String {
        try await pool.run { session in
            try session.run(
                script: "SET plan_cache_mode = force_generic_plan; PREPARE looked_at (\(types)) AS \(statement)")
            let rows = try session.execute(
                PostgresStatement("EXPLAIN \(analyze ? "(ANALYZE, BUFFERS)" : "") EXECUTE looked_at (\(parameters))"))
            try session.run(script: "DEALLOCATE looked_at; RESET plan_cache_mode")
            return (0..<rows.count).compactMap { rows.text($0, 0) }.joined(separator: "\n")
        }
    }
}

extension Timestamp {
    static var current: Timestamp { Timestamp(milliseconds: Int64(Date.now.timeIntervalSince1970 * 1000)) }
}
