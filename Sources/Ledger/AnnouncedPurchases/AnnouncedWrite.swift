import Fulfillment
import NamesAndTimes
import PlantedFaults
import Postgres

enum AnnouncedWrite {
    private static let entering = LedgerSQL.statement(PackageResources.insert_announced_purchases_sql)

    /// Inserts purchases in the SQL transaction of their announcement. The caller has locked the claims of their
    /// originals. A purchase that already has a row keeps its first announcement.
    static func enter(_ purchases: [AnnouncedPurchase], in session: PostgresSession) throws {
        // Apple may announce a purchase twice in one batch. The first announcement counts.
        let told = Dictionary(purchases.map { ($0.purchase.transactionID, $0) }) { first, _ in first }
            .values.sorted { $0.purchase.transactionID < $1.purchase.transactionID }
        guard !told.isEmpty, !(PlantedFault.toldPurchaseDropped.isPlanted && told.count == 1) else { return }
        try session.execute(
            entering,
            [
                .identifiers(told.lazy.map(\.purchase.transactionID)),
                .identifiers(told.lazy.map(\.purchase.originalTransactionID)),
                .identifiers(told.lazy.map(\.evidence.bundleID)), .identifiers(told.lazy.map(\.purchase.productID)),
                .textArray(told.map(\.evidence.environment.rawValue)), .textArray(told.map(\.source.rawValue)),
                .identifiers(told.lazy.map(\.submissionID)), .byteaArray(told.map { $0.tokenKey?.hash.bytes }),
                .boolArray(told.map { $0.isRenewal || $0.previousOriginalTransactionID != nil }),
                .timestamps(told.map(\.purchase.purchasedAt)),
                .timestamps(told.map(\.purchase.expiresAt)), .timestamps(told.map(\.graceExpiresAt)),
                .timestamps(told.map(\.toldAt)), .byteaArray(told.map(\.evidence.storedBytes)),
                .textArray(told.map { $0.previousOriginalTransactionID?.text }),
                .textArray(
                    told.map { one in
                        one.period(one.evidence.holdsAutoRenewable ? .autoRenewableSubscription : nil)?.text
                    }),
            ])
    }
}
