import Fulfillment
import NamesAndTimes
import Postgres

/// Writes holds that do not end, with the version of the catalog that decided them.
enum UpdateHolds {
    /// The `note` if Apple's new answer lacks the transaction.
    static let notTold = "Apple's answer no longer has the purchase"
    /// The `note` if receiptd cannot read the submission of this hold, and so cannot check the hold with Apple.
    static let unreadable = "receiptd cannot read the submission of this hold"

    /// The `note` if Apple answered again, and receiptd still cannot read these fields.
    static func note(unreadable fields: [String]) -> String? {
        fields.isEmpty ? nil : "receiptd cannot read these fields: \(fields.joined(separator: ", "))"
    }

    struct Row: Sendable {
        let hold: LeasedHold
        let reason: Reason
        var note: String?
        /// The claim of the hold's period from now on; nil to keep the present one.
        var period: StoreTransactionID?
    }

    private static let keeping = LedgerSQL.statement(PackageResources.update_kept_holds_sql)
    private static let settingAside = LedgerSQL.statement(PackageResources.update_unreadable_holds_sql)

    static func run(_ rows: [Row], catalogVersion: Int64, in session: PostgresSession) throws {
        guard !rows.isEmpty else { return }
        let sorted = rows.sorted { one, other in
            (one.hold.transactionID, one.hold.submission.playerID)
                < (other.hold.transactionID, other.hold.submission.playerID)
        }
        try session.execute(
            keeping,
            [
                .identifiers(sorted.lazy.map(\.hold.transactionID)),
                .timestamptzArray(unixMicroseconds: sorted.map(\.hold.lease)),
                .textArray(sorted.map(\.reason.rawValue)), .textArray(sorted.map(\.note)), .int8(catalogVersion),
                .textArray(sorted.map { $0.period?.text }), .identifiers(sorted.lazy.map(\.hold.submission.playerID)),
            ])
    }

    /// Sets aside unreadable holds that are still leased. Not even an operator's refusal can end such a hold, because
    /// no event could name its submission.
    static func setAside(
        _ holds: [LeasedHolds.Unreadable], catalogVersion: Int64,
        in session: PostgresSession
    ) throws {
        guard !holds.isEmpty else { return }
        let sorted = holds.sorted { ($0.transaction, $0.player) < ($1.transaction, $1.player) }
        try session.execute(
            settingAside,
            [
                .identifiers(sorted.lazy.map(\.transaction)), .timestamptzArray(unixMicroseconds: sorted.map(\.lease)),
                .text(unreadable), .int8(catalogVersion), .identifiers(sorted.lazy.map(\.player)),
            ])
    }
}
