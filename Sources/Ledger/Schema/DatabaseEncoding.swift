import Postgres

/// The error for a database that receiptd cannot use, whatever its content. Exit code 78: an operator must create
/// another database.
public struct UnsuitableDatabase: Error, Sendable, Equatable, CustomStringConvertible {
    public let description: String
}

/// Checks the database's encoding. Names of players, topics and products are Unicode, and only UTF-8 accepts all of
/// them.
public enum DatabaseEncoding {
    private static let statement = PostgresStatement(
        "SELECT current_database()::text AS name, getdatabaseencoding()::text AS encoding")

    /// Returns the reason why receiptd cannot use the database; nil if receiptd can use it.
    public static func fault(in session: PostgresSession) throws -> String? {
        let rows = try session.execute(statement)
        let name = rows.text(0, try rows.column("name")) ?? ""
        guard let encoding = rows.text(0, try rows.column("encoding")), encoding != "UTF8" else { return nil }
        return """
            database "\(name)" has the encoding \(encoding), receiptd needs UTF8: create a new database with \
            CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0
            """
    }

    /// Throws `UnsuitableDatabase` if the encoding is not UTF-8.
    public static func require(in session: PostgresSession) throws {
        if let fault = try fault(in: session) { throw UnsuitableDatabase(description: fault) }
    }
}
