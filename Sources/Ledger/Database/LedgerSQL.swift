import Postgres

/// The statements, one a file in the `SQL` folder beside their Swift, built into the program: a binary has nothing to look
/// for at run time.
package enum LedgerSQL {
    package static func statement(_ file: [UInt8]) -> PostgresStatement {
        PostgresStatement(text(file))
    }

    package static func text(_ file: [UInt8]) -> String { String(decoding: file, as: UTF8.self) }
}
