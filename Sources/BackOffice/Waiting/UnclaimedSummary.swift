import Ledger
import NamesAndTimes
import Postgres

/// An announced purchase that no player has, as an operator sees it.
public struct UnclaimedSummary: Sendable, Equatable {
    public let transactionID: String
    public let originalTransactionID: String
    public let bundleID: String
    public let productID: String
    public let environment: String
    public let source: String
    public let submissionID: String
    public let isRenewal: Bool
    /// The time of purchase. Nil if Apple's time cannot be read.
    public let purchasedAt: Timestamp?
    public let expiresAt: Timestamp?
    public let toldAt: Timestamp
    public let reason: String
    /// Whether the purchase has an account token that receiptd still stores.
    public let hasToken: Bool
    /// The player whom the game last named for the token. It is a hint, not a proof.
    public let learntOf: String?
    /// Whether enough data is stored for another try.
    public let isRetriable: Bool
}

/// The rows of `list_unclaimed`.
extension UnclaimedSummary: ListedRow {
    package enum Column: String, CaseIterable {
        case transactionID, originalTransactionID, bundleID, productID, environment, source, submissionID, isRenewal
        case purchasedAt, expiresAt, storedAt, reason, hasToken, playerID, isRetriable
    }

    package init?(_ row: PostgresRow<Column>) {
        guard let id = row.text(.transactionID), let told = row.timestamp(.storedAt) else { return nil }
        self.init(
            transactionID: id, originalTransactionID: row.text(.originalTransactionID) ?? id,
            bundleID: row.text(.bundleID) ?? "", productID: row.text(.productID) ?? "",
            environment: row.text(.environment) ?? "", source: row.text(.source) ?? "",
            submissionID: row.text(.submissionID) ?? "", isRenewal: row.bool(.isRenewal) ?? false,
            purchasedAt: row.purchaseTime(.purchasedAt), expiresAt: row.timestamp(.expiresAt), toldAt: told,
            reason: row.text(.reason) ?? "", hasToken: row.bool(.hasToken) ?? false, learntOf: row.text(.playerID),
            isRetriable: row.bool(.isRetriable) ?? false)
    }
}
