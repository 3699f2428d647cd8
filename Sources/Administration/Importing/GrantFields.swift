import BackOffice
import Fulfillment
import NamesAndTimes
import ReceiptdConfiguration

/// The texts of one row of an imported file, by column. `grant` makes a grant of them.
struct GrantFields {
    /// The most Unicode scalars of a name. The limit of a player id is lower.
    static let maximumNameScalars = 255
    static let maximumPlayerScalars = 128
    static let columns: Set<String> = [
        "transaction_id", "original_transaction_id", "player_id", "bundle_id", "product_id", "quantity", "environment",
        "purchased_at", "expires_at", "revoked_at", "granted_at", "submission_id", "previous_original_transaction_id",
        "web_order_line_item_id",
    ]
    static let required = ["transaction_id", "player_id", "bundle_id", "product_id"]
    /// The submission id of a grant whose row has no `submission_id`. PostgreSQL requires one.
    static let unnamedSubmission: Identifier = "import"

    struct Fault: Error, Equatable {
        let message: String
    }

    /// The texts by column. An empty text counts as missing.
    let values: [String: String]
    let line: Int

    /// Returns the grant of this row.
    /// - Parameter now: the time of the grant if the row has neither `granted_at` nor `purchased_at`.
    func grant(now: Timestamp) throws(Fault) -> ImportedGrant {
        guard let transaction = try transactionID("transaction_id") else {
            throw Fault(message: "transaction_id is missing")
        }
        let purchasedAt = try time("purchased_at")
        return ImportedGrant(
            line: line, transactionID: transaction,
            originalTransactionID: try transactionID("original_transaction_id") ?? transaction,
            playerID: try name("player_id", maximum: Self.maximumPlayerScalars), bundleID: try name("bundle_id"),
            productID: try name("product_id"), quantity: try quantity(), environment: try environment(),
            purchasedAt: purchasedAt, expiresAt: try time("expires_at"), revokedAt: try time("revoked_at"),
            grantedAt: try time("granted_at") ?? purchasedAt ?? now,
            submissionID: try optionalName("submission_id") ?? Self.unnamedSubmission,
            previous: try transactionID("previous_original_transaction_id"),
            charged: try optionalName("web_order_line_item_id"))
    }

    private func transactionID(_ column: String) throws(Fault) -> StoreTransactionID? {
        guard let text = values[column], !text.isEmpty else { return nil }
        guard TransactionIDText.isSound(text) else {
            throw Fault(
                message: "\(column) \(ShownText.quoted(text)) is not \(TransactionIDText.requirement): "
                    + "a spreadsheet may have changed it")
        }
        return StoreTransactionID(text)
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
        // receiptd compares ids as bytes, so an extra blank would name another player.
        guard text.first?.isWhitespace == false, text.last?.isWhitespace == false else {
            throw Fault(message: "\(column) \(ShownText.quoted(text)) begins or ends with white space")
        }
        guard !text.unicodeScalars.contains("\0") else { throw Fault(message: "\(column) holds NUL") }
        return Identifier(text)
    }

    private func quantity() throws(Fault) -> Int32 {
        guard let text = values["quantity"], !text.isEmpty else { return 1 }
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let quantity = Int32(text), quantity >= 1 else {
            throw Fault(message: "quantity must be a whole number, 1 or more")
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

    /// Returns the time in a column, which is in RFC 3339 or in milliseconds since 1970. Nil if the column is empty.
    private func time(_ column: String) throws(Fault) -> Timestamp? {
        guard let text = values[column], !text.isEmpty else { return nil }
        if let time = Timestamp(rfc3339: text) { return time }
        if let milliseconds = Int64(text), milliseconds >= 0 { return Timestamp(milliseconds: milliseconds) }
        throw Fault(message: "\(column) is neither RFC 3339 nor milliseconds since 1970")
    }
}
