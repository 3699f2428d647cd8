import Fulfillment
import Ledger
import NamesAndTimes
import Postgres

/// A grant that an earlier system made.
public struct ImportedGrant: Sendable, Equatable {
    /// The line in the imported file, from 1.
    public var line: Int
    public let transactionID: StoreTransactionID
    public let originalTransactionID: StoreTransactionID
    public let playerID: PlayerID
    public let bundleID: BundleID
    public let productID: ProductID
    /// The number of units, at least 1.
    public let quantity: Int32
    public let environment: StoreEnvironment
    public let purchasedAt: Timestamp?
    public let expiresAt: Timestamp?
    public let revokedAt: Timestamp?
    public let grantedAt: Timestamp
    public let submissionID: Identifier
    /// The claim of the subscription period for which the purchase pays; nil for another kind of purchase.
    public let period: StoreTransactionID?

    /// - Parameters:
    ///   - previous: the original transaction of the subscription that this subscription continues.
    ///   - charged: Apple's `webOrderLineItemId`.
    public init(
        line: Int, transactionID: StoreTransactionID, originalTransactionID: StoreTransactionID, playerID: PlayerID,
        bundleID: BundleID, productID: ProductID, quantity: Int32, environment: StoreEnvironment,
        purchasedAt: Timestamp?, expiresAt: Timestamp?, revokedAt: Timestamp?, grantedAt: Timestamp,
        submissionID: Identifier, previous: StoreTransactionID? = nil, charged: Identifier? = nil
    ) {
        self.line = line
        self.transactionID = transactionID
        self.originalTransactionID = originalTransactionID
        self.playerID = playerID
        self.bundleID = bundleID
        self.productID = productID
        self.quantity = quantity
        self.environment = environment
        self.purchasedAt = purchasedAt
        self.expiresAt = expiresAt
        self.revokedAt = revokedAt
        self.grantedAt = grantedAt
        self.submissionID = submissionID
        period = PeriodIdentity.claim(
            of: transactionID, under: originalTransactionID, goingOnFrom: previous, charged: charged, of: productID,
            from: purchasedAt, to: expiresAt, in: StoreApp(bundleID, in: environment))
    }
}

/// Stores grants of an earlier system, without events. An import may be repeated, and may run beside workers, because
/// each batch locks its claims first and in their usual order. Throws a `PostgresError`.
public struct GrantImport: Sendable {
    /// The most rows in one SQL transaction. Workers that need one of its claims wait for its COMMIT.
    public static let batch = 5_000

    public struct Entered: Sendable, Equatable {
        public let entered: Int
        /// The lines whose transaction or period belongs to another player. The import changed nothing for them.
        public let conflicts: [Int]
    }

    private static let creating = LedgerSQL.text(PackageResources.create_import_table_sql)
    private static let claiming = LedgerSQL.text(PackageResources.upsert_imported_claims_sql)
    private static let granting = LedgerSQL.statement(PackageResources.insert_imported_grants_sql)
    private static let comparing = LedgerSQL.statement(PackageResources.find_import_conflicts_sql)

    private let pool: PostgresPool

    public init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Carries the result of a dry run out of the SQL transaction, which then rolls back.
    private struct DryRun: Error {
        let found: Entered
    }

    /// Stores one batch in one SQL transaction.
    /// - Parameter dryRun: true to roll the batch back. The result counts the rows that a real import would have
    ///   stored. A later batch does not see these rows.
    public func enter(_ grants: [ImportedGrant], dryRun: Bool = false) async throws -> Entered {
        guard !grants.isEmpty else { return Entered(entered: 0, conflicts: []) }
        do {
            return try await enterBatch(grants, dryRun: dryRun)
        } catch let ending as DryRun {
            return ending.found
        }
    }

    private func enterBatch(_ grants: [ImportedGrant], dryRun: Bool) async throws -> Entered {
        try await pool.run { session in
            try session.transaction { session in
                try session.run(script: Self.creating)
                var chunk: [UInt8]? = Self.copied(grants)
                try session.copyIn("COPY imported FROM STDIN") {
                    defer { chunk = nil }
                    return chunk
                }
                // The script is not prepared, because each batch creates a new table.
                try session.run(script: Self.claiming)
                let entered = try session.count("entered", of: Self.granting)
                let conflicts = try session.execute(Self.comparing)
                let line = try conflicts.column("line")
                let found = Entered(
                    entered: entered,
                    conflicts: (0..<conflicts.count).compactMap { row in conflicts.int8(row, line).map { Int($0) } })
                if dryRun { throw DryRun(found: found) }
                return found
            }
        }
    }

    /// Returns the rows in the text format of PostgreSQL's COPY.
    private static func copied(_ grants: [ImportedGrant]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(grants.count * 200)
        for grant in grants {
            let fields: [String?] = [
                String(grant.line), grant.transactionID.text, grant.originalTransactionID.text, grant.playerID.text,
                grant.bundleID.text, grant.productID.text, String(grant.quantity), grant.environment.rawValue,
                grant.purchasedAt?.rfc3339, grant.expiresAt?.rfc3339, grant.revokedAt?.rfc3339,
                grant.grantedAt.rfc3339, grant.submissionID.text, grant.period?.text,
            ]
            for (index, field) in fields.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: "\t")) }
                append(field, to: &bytes)
            }
            bytes.append(UInt8(ascii: "\n"))
        }
        return bytes
    }

    private static func append(_ field: String?, to bytes: inout [UInt8]) {
        guard let field else { return bytes.append(contentsOf: "\\N".utf8) }
        for byte in field.utf8 {
            switch byte {
            case UInt8(ascii: "\\"): bytes.append(contentsOf: "\\\\".utf8)
            case UInt8(ascii: "\t"): bytes.append(contentsOf: "\\t".utf8)
            case UInt8(ascii: "\n"): bytes.append(contentsOf: "\\n".utf8)
            case UInt8(ascii: "\r"): bytes.append(contentsOf: "\\r".utf8)
            default: bytes.append(byte)
            }
        }
    }
}
