import Postgres

/// Reads the SQL statements. Each statement is a file in the `SQL` folder beside its Swift file, and is built into the
/// program.
package enum LedgerSQL {
    package static func statement(_ file: [UInt8]) -> PostgresStatement {
        PostgresStatement(text(file))
    }

    package static func text(_ file: [UInt8]) -> String { String(decoding: file, as: UTF8.self) }
}
