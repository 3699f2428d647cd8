/// A file of `migrations/`, which changes the tables of an earlier version.
///
/// receiptd applies `schema.sql` after this file. `schema.sql` creates missing tables. So a migration adds columns,
/// drops objects that `schema.sql` no longer has, and moves rows.
struct SchemaMigrationFile: Sendable {
    /// The number in the file's name.
    let version: Int
    let script: String

    init(_ version: Int, _ file: [UInt8]) {
        self.init(version, LedgerSQL.text(file))
    }

    init(_ version: Int, _ script: String) {
        self.version = version
        self.script = script
    }
}
