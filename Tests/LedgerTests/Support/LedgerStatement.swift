import Foundation
import Fulfillment
import NamesAndTimes
import Postgres
import Testing

/// A statement of the ledger, whose plan a test reads.
struct LedgerStatement: Sendable {
    /// The file's name without `.sql`, or the beginning of a statement in Swift.
    let name: String
    /// The folder of `Ledger` or of `BackOffice` with the statement's Swift code.
    let room: String
    let sql: String

    /// The project's sources.
    static let sources = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("Sources")

    static func text(_ name: String) throws -> String {
        try #require(try files().first { $0.name == name }, "there is no \(name).sql").sql
    }

    /// Returns every `.sql` file except `schema.sql` and the migrations.
    static func files() throws -> [LedgerStatement] {
        try sources(endingWith: ".sql").filter { path, _ in
            path != "Schema/SQL/schema.sql" && !path.hasPrefix("Schema/SQL/migration_")
        }.map { path, text in
            let parts = path.split(separator: "/")
            return LedgerStatement(
                name: String(parts[parts.count - 1].dropLast(4)), room: parts.first.map(String.init) ?? "", sql: text)
        }
    }

    /// Returns the statements that are literals in the Swift code.
    static func inSwift() throws -> [LedgerStatement] {
        let literal = try Regex(#"PostgresStatement\(\s*(?:"""\s*([^"]+?)\s*"""|"((?:[^"\\]|\\.)*)")\s*\)"#)
        return try sources(endingWith: ".swift").flatMap { path, text in
            text.matches(of: literal).compactMap { match in
                guard let sql = match.output[1].substring ?? match.output[2].substring, !sql.contains("\\(") else {
                    return nil
                }
                return LedgerStatement(
                    name: String(sql.prefix(40)), room: path.split(separator: "/").first.map(String.init) ?? "",
                    sql: String(sql))
            }
        }
    }

    /// Returns each file's path below `Sources/Ledger` or `Sources/BackOffice`, and its text.
    static func sources(endingWith suffix: String) throws -> [(path: String, text: String)] {
        try ["Ledger", "BackOffice"].flatMap { target in
            let root = sources.appendingPathComponent(target).path
            let paths = FileManager.default.enumerator(atPath: root)?.compactMap { $0 as? String } ?? []
            return try paths.filter { $0.hasSuffix(suffix) }.sorted().map { path in
                (path, try String(contentsOfFile: "\(root)/\(path)", encoding: .utf8))
            }
        }
    }
}

extension LedgerDatabase {
    /// Returns PostgreSQL's generic plan, which serves any parameters.
    func plan(_ statement: String, types: String, parameters: String, analyze: Bool = false) async throws -> String {
        try await pool.run { session in
            try session.run(
                script:
                    "SET plan_cache_mode = force_generic_plan; PREPARE looked_at \(types.isEmpty ? "" : "(\(types))") AS \(statement)"
            )
            let rows = try session.execute(
                PostgresStatement(
                    "EXPLAIN \(analyze ? "(ANALYZE, BUFFERS)" : "") EXECUTE looked_at \(parameters.isEmpty ? "" : "(\(parameters))")"
                ))
            try session.run(script: "DEALLOCATE looked_at; RESET plan_cache_mode")
            return (0..<rows.count).compactMap { rows.text($0, 0) }.joined(separator: "\n")
        }
    }
}

extension Timestamp {
    static var current: Timestamp { Timestamp(milliseconds: Int64(Date.now.timeIntervalSince1970 * 1000)) }
}
