import Fulfillment
import Ledger
import NamesAndTimes
import Postgres

/// A held transaction as an operator sees it.
public struct HoldSummary: Sendable, Equatable {
    public let transactionID: String
    public let originalTransactionID: String
    public let playerID: String
    public let bundleID: String
    public let productID: String
    public let quantity: Int
    public let environment: String
    public let reason: String
    /// Reasons that operators have waived.
    public let waived: [String]
    public let submissionID: String
    /// Nil where Apple's time cannot be read.
    public let purchasedAt: Timestamp?
    public let heldAt: Timestamp
    /// Released, and not decided again yet.
    public let releasedAt: Timestamp?
    public let note: String?
    public let catalogVersion: Int64
    /// The number of tries without a verdict since the last decision.
    public let tries: Int
    /// The price of the whole quantity, in thousandths of the currency's unit. Nil where Apple did not tell it, and
    /// where it was held before Apple was asked.
    public let priceMilliunits: Int64?
    /// ISO 4217.
    public let currency: String?
}

extension HoldSummary {
    /// The rows of `list_holds`.
    static func all(_ rows: PostgresRows) throws(PostgresError) -> [HoldSummary] {
        let columns = try rows.columns(Column.self)
        return (0..<rows.count).compactMap { HoldSummary(rows, $0, columns) }
    }

    private enum Column: String, CaseIterable {
        case transactionID, originalTransactionID, playerID, bundleID, productID, quantity, environment, reason
        case waived, submissionID, purchasedAt, heldAt, releasedAt, note, catalogVersion, tries, evidence
    }

    private init?(_ rows: PostgresRows, _ row: Int, _ columns: PostgresColumns<Column>) {
        guard let transaction = rows.text(row, columns[.transactionID]),
            let original = rows.text(row, columns[.originalTransactionID]),
            let player = rows.text(row, columns[.playerID]), let bundle = rows.text(row, columns[.bundleID]),
            let product = rows.text(row, columns[.productID]), let environment = rows.text(row, columns[.environment]),
            let reason = rows.text(row, columns[.reason]), let submission = rows.text(row, columns[.submissionID]),
            let heldAt = rows.timestamp(row, columns[.heldAt])
        else { return nil }
        let told = rows.bytes(row, columns[.evidence]).flatMap(GenuineReceipt.init(stored:))?.purchases.first {
            $0.transactionID.text == transaction
        }
        self.init(
            transactionID: transaction, originalTransactionID: original, playerID: player, bundleID: bundle,
            productID: product, quantity: Int(rows.int4(row, columns[.quantity]) ?? 1), environment: environment,
            reason: reason, waived: (rows.textArray(row, columns[.waived]) ?? []).compactMap(\.self),
            submissionID: submission, purchasedAt: rows.purchaseTime(row, columns[.purchasedAt]), heldAt: heldAt,
            releasedAt: rows.timestamp(row, columns[.releasedAt]), note: rows.text(row, columns[.note]),
            catalogVersion: rows.int8(row, columns[.catalogVersion]) ?? 0,
            tries: Int(rows.int4(row, columns[.tries]) ?? 0), priceMilliunits: told?.told?.priceMilliunits,
            currency: told?.currency)
    }
}
