import Fulfillment
import Ledger

/// A row of the file, as text by column, on its way to a grant. A fault says what is wrong in a few words.
struct GrantFields {
    /// Unicode scalars of a name, and of a player's.
    static let maximumNameScalars = 255
    static let maximumPlayerScalars = 128
    static let columns: Set<String> = [
        "transaction_id", "original_transaction_id", "player_id", "bundle_id", "product_id", "quantity", "environment",
        "purchased_at", "expires_at", "revoked_at", "granted_at", "submission_id",
    ]
    static let required = ["transaction_id", "player_id", "bundle_id", "product_id"]
    /// What stands as submission where the file names none: the column is never empty.
    static let unnamedSubmission: Identifier = "import"

    struct Fault: Error, Equatable {
        let message: String
    }

    /// Empty ones are as if they were not there.
    let values: [String: String]
    let line: Int

    /// - Parameter now: when it was granted, where nothing in the row tells.
    func grant(now: Timestamp) throws(Fault) -> ImportedGrant {
        let transaction = try name("transaction_id")
        let purchasedAt = try time("purchased_at")
        return ImportedGrant(
            line: line, transactionID: transaction,
            originalTransactionID: try optionalName("original_transaction_id") ?? transaction,
            playerID: try name("player_id", maximum: Self.maximumPlayerScalars), bundleID: try name("bundle_id"),
            productID: try name("product_id"), quantity: try quantity(), environment: try environment(),
            purchasedAt: purchasedAt, expiresAt: try time("expires_at"), revokedAt: try time("revoked_at"),
            grantedAt: try time("granted_at") ?? purchasedAt ?? now,
            submissionID: try optionalName("submission_id") ?? Self.unnamedSubmission)
    }

    private func name(_ column: String, maximum: Int = maximumNameScalars) throws(Fault) -> Identifier {
        guard let name = try optionalName(column, maximum: maximum) else {
            throw Fault(message: "\(column) is missing")
        }
        return name
    }

    private func optionalName(_ column: String, maximum: Int = maximumNameScalars) throws(Fault) -> Identifier? {
        guard let text = values[column], !text.isEmpty else { return nil }
        guard text.unicodeScalars.count <= maximum else {
            throw Fault(message: "\(column) is longer than \(maximum) characters")
        }
        guard !text.unicodeScalars.contains("\0") else { throw Fault(message: "\(column) holds NUL") }
        return Identifier(text)
    }

    private func quantity() throws(Fault) -> Int32 {
        guard let text = values["quantity"], !text.isEmpty else { return 1 }
        guard let quantity = Int32(text), quantity >= 1 else {
            throw Fault(message: "quantity is no whole number from 1")
        }
        return quantity
    }

    private func environment() throws(Fault) -> StoreEnvironment {
        guard let text = values["environment"], !text.isEmpty else { return .production }
        guard
            let environment = StoreEnvironment.allCases.first(where: { $0.rawValue.lowercased() == text.lowercased() })
        else { throw Fault(message: "environment is neither Production nor Sandbox") }
        return environment
    }

    /// RFC 3339, or milliseconds since 1970 as Apple's `…_ms` fields have them.
    private func time(_ column: String) throws(Fault) -> Timestamp? {
        guard let text = values[column], !text.isEmpty else { return nil }
        if let time = Timestamp(rfc3339: text) { return time }
        if let milliseconds = Int64(text), milliseconds >= 0 { return Timestamp(milliseconds: milliseconds) }
        throw Fault(message: "\(column) is neither RFC 3339 nor milliseconds since 1970")
    }
}
