/// A file of `migrations/`: what changes the tables of a database of an earlier version.
///
/// `schema.sql` is applied behind it and makes what is missing. So a migration adds columns, drops what `schema.sql` no longer
/// has, and moves rows.
struct SchemaMigrationFile: Sendable {
    /// The number in its name.
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
