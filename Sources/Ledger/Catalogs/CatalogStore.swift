import Fulfillment
import NamesAndTimes
import Postgres

/// The catalogs in PostgreSQL. Every function throws a `PostgresError`, but for the errors of `check`.
public struct CatalogStore: Sendable {
    public struct Stored: Sendable, Equatable {
        /// The number of the import. Numbers increase, but some may be missing.
        public let version: Int64
        /// The imported file's text.
        public let document: String
        public let importedAt: Timestamp
    }

    private static let newestVersion = LedgerSQL.statement(PackageResources.find_latest_catalog_version_sql)
    private static let newest = LedgerSQL.statement(PackageResources.find_latest_catalog_sql)
    private static let loading = LedgerSQL.statement(PackageResources.find_catalog_sql)
    private static let inserting = LedgerSQL.statement(PackageResources.insert_catalog_sql)

    private let pool: PostgresPool

    public init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Returns the number of the newest import; nil before the first import.
    public func latestVersion() async throws -> Int64? {
        try await pool.run { try Self.latestVersion(in: $0) }
    }

    /// Returns one version of the catalog; nil if it does not exist.
    public func load(version: Int64) async throws -> Stored? {
        try await pool.run { try Self.load(version: version, in: $0) }
    }

    /// Makes the document the newest catalog, and returns its version. If the document equals the latest document, the
    /// latest version stays.
    /// - Parameters:
    ///   - apps: the apps that grant missed purchases from now on, or since an earlier document.
    ///   - check: called with the catalog that the document replaces; nil before the first import. No other import
    ///     comes between this call and the import. If `check` throws, the catalog stays, and this function throws the
    ///     same error.
    public func importDocument(
        _ document: String, granting apps: [BundleID],
        check: @escaping @Sendable (_ replaced: Stored?) throws -> Void = { _ in }
    ) async throws -> Int64 {
        let digest = Digest256(hashing: Array(document.utf8)).bytes
        return try await pool.run { session in
            try session.transaction { session in
                try AdvisoryLock.catalog.take(in: session)
                let latest = try Self.latestVersion(in: session)
                try check(try latest.flatMap { try Self.load(version: $0, in: session) })
                let version = try Self.enter(document, digest: digest, in: session)
                // The import itself stores the time since which the apps grant missed purchases, because another
                // catalog may replace this one before a worker reads it.
                try MissedPurchaseGrants.keep(apps.sorted(), since: version, in: session)
                return version
            }
        }
    }

    private static func latestVersion(in session: PostgresSession) throws -> Int64? {
        let rows = try session.execute(newestVersion)
        return rows.int8(0, try rows.column("version"))
    }

    private static func load(version: Int64, in session: PostgresSession) throws -> Stored? {
        let rows = try session.execute(loading, [.int8(version)])
        guard let version = rows.int8(0, try rows.column("version")),
            let document = rows.text(0, try rows.column("document")),
            let importedAt = rows.timestamp(0, try rows.column("imported_at"))
        else { return nil }
        return Stored(version: version, document: document, importedAt: importedAt)
    }

    private static func enter(_ document: String, digest: [UInt8], in session: PostgresSession) throws -> Int64 {
        let latest = try session.execute(newest)
        if latest.bytes(0, try latest.column("sha256")) == digest,
            latest.text(0, try latest.column("document")) == document,
            let version = latest.int8(0, try latest.column("version"))
        {
            return version
        }
        let rows = try session.execute(inserting, [.text(document), .bytea(digest)])
        guard let version = rows.int8(0, try rows.column("version")) else {
            throw PostgresError(sqlState: nil, message: "INSERT returned no version", kind: .other)
        }
        return version
    }
}
