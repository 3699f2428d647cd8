import Postgres

/// A database that receiptd cannot work in, whatever its content. Exit code 78: you need to create another one.
public struct UnsuitableDatabase: Error, Sendable, Equatable, CustomStringConvertible {
    public let description: String
}

/// Checks the database's encoding. Names of players, topics and products are Unicode, and another encoding than UTF-8
/// refuses some of them.
public enum DatabaseEncoding {
    private static let statement = PostgresStatement(
        "SELECT current_database()::text AS name, getdatabaseencoding()::text AS encoding")

    /// Returns the reason why the database cannot be used; nil if it can.
    public static func fault(in session: PostgresSession) throws -> String? {
        let rows = try session.execute(statement)
        let name = rows.text(0, try rows.column("name")) ?? ""
        guard let encoding = rows.text(0, try rows.column("encoding")), encoding != "UTF8" else { return nil }
        return """
            database "\(name)" has the encoding \(encoding), receiptd needs UTF8: create a new one with \
            CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0
            """
    }

    /// Throws `UnsuitableDatabase` if the database has another encoding than UTF-8.
    public static func require(in session: PostgresSession) throws {
        if let fault = try fault(in: session) { throw UnsuitableDatabase(description: fault) }
    }
}
