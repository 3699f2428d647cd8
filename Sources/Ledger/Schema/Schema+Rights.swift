import Postgres

extension Schema {
    private static let findingRights = LedgerSQL.statement(PackageResources.find_schema_rights_sql)

    /// Returns a sentence about a right that the session's role lacks for creating or changing the tables, and how to
    /// get the right. Returns nil if the role has all these rights. Throws a `PostgresError`.
    public static func missingRight(in session: PostgresSession) throws -> String? {
        let rows = try session.execute(findingRights)
        let role = rows.text(0, try rows.column("role")) ?? "?"
        let place = rows.text(0, try rows.column("place")) ?? "public"
        guard rows.bool(0, try rows.column("may_create")) == true else {
            return """
                the role \(role) may not create tables in the schema \(place): as its owner or a superuser run \
                GRANT CREATE, USAGE ON SCHEMA \(place) TO \(role)
                """
        }
        guard let owner = rows.text(0, try rows.column("owner")), rows.bool(0, try rows.column("is_owner")) == false
        else {
            return nil
        }
        return """
            the tables belong to the role \(owner), and only the owner may change the tables: run \
            `receiptd migrate` as \(owner), or run GRANT \(owner) TO \(role)
            """
    }
}
