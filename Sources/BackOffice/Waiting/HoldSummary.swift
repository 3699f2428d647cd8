import Fulfillment
import Ledger
import NamesAndTimes
import Postgres

/// The data of a held transaction for an operator.
public struct HoldSummary: Sendable, Equatable {
    public let transactionID: String
    public let originalTransactionID: String
    public let playerID: String
    public let bundleID: String
    public let productID: String
    public let quantity: Int
    public let environment: String
    public let reason: String
    /// The reasons that operators have waived.
    public let waived: [String]
    public let submissionID: String
    /// The time of purchase; nil if it cannot be read in Apple's answer.
    public let purchasedAt: Timestamp?
    public let heldAt: Timestamp
    /// The time of the release if no worker has decided since; nil while the hold waits for an operator.
    public let releasedAt: Timestamp?
    public let note: String?
    public let catalogVersion: Int64
    /// The number of tries since the hold's last verdict. Each ended without a verdict.
    public let tries: Int
    /// The price of the whole quantity, in thousandths of the currency's main unit. Nil if Apple gave no price, or if
    /// the transaction was held without a request to Apple.
    public let priceMilliunits: Int64?
    /// The currency's ISO 4217 code; nil without a price.
    public let currency: String?
}

/// Reads the rows of `list_holds`.
extension HoldSummary: ListedRow {
    package enum Column: String, CaseIterable {
        case transactionID, originalTransactionID, playerID, bundleID, productID, quantity, environment, reason
        case waived, submissionID, purchasedAt, heldAt, releasedAt, note, catalogVersion, tries, evidence
    }

    package init?(_ row: PostgresRow<Column>) {
        guard let transaction = row.text(.transactionID), let original = row.text(.originalTransactionID),
            let player = row.text(.playerID), let bundle = row.text(.bundleID), let product = row.text(.productID),
            let environment = row.text(.environment), let reason = row.text(.reason),
            let submission = row.text(.submissionID), let heldAt = row.timestamp(.heldAt)
        else { return nil }
        let told = row.bytes(.evidence).flatMap(GenuineReceipt.init(stored:))?.purchases.first {
            $0.transactionID.text == transaction
        }
        self.init(
            transactionID: transaction, originalTransactionID: original, playerID: player, bundleID: bundle,
            productID: product, quantity: row.integer(.quantity) ?? 1, environment: environment, reason: reason,
            waived: (row.textArray(.waived) ?? []).compactMap(\.self), submissionID: submission,
            purchasedAt: row.purchaseTime(.purchasedAt), heldAt: heldAt, releasedAt: row.timestamp(.releasedAt),
            note: row.text(.note), catalogVersion: row.integer(.catalogVersion) ?? 0, tries: row.integer(.tries) ?? 0,
            priceMilliunits: told?.told?.priceMilliunits, currency: told?.currency)
    }
}
