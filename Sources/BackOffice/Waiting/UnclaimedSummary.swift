import Ledger
import NamesAndTimes
import Postgres

/// The data of an unclaimed purchase for an operator.
public struct UnclaimedSummary: Sendable, Equatable {
    public let transactionID: String
    public let originalTransactionID: String
    public let bundleID: String
    public let productID: String
    public let environment: String
    public let source: String
    public let submissionID: String
    public let isRenewal: Bool
    /// The time of purchase; nil if it cannot be read in Apple's data.
    public let purchasedAt: Timestamp?
    public let expiresAt: Timestamp?
    public let toldAt: Timestamp
    public let reason: String
    /// True if the purchase has an account token that receiptd still stores.
    public let hasToken: Bool
    /// The player whom a game server named last for the account token. This is a hint and no proof.
    public let learntOf: String?
    /// True if PostgreSQL has enough data for another try.
    public let isRetriable: Bool
}

/// Reads the rows of `list_unclaimed`.
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
