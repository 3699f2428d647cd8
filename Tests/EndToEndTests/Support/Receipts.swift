import AppStoreSimulation
import Foundation

/// Makes and signs the receipts of the traffic generator.
enum Receipts {
    static let castle = "com.example.castle"
    static let castleAppleID: Int64 = 1_450_000_001
    static let gems = "com.example.castle.gems.100"
    static let builder = "com.example.castle.builder"
    static let vip = "com.example.castle.vip.month"
    static let retired = "com.example.castle.retired.hold"
    /// The purchase time, 2026-05-01T10:00:00Z, in milliseconds since 1970.
    static let purchasedAt: Int64 = 1_777_629_600_000

    /// Returns a receipt with one purchase. If the last digit of the transaction id is even and `behaviour` is nil, the
    /// receipt is a signed app receipt. Otherwise the receipt is an iOS 6 receipt, which is not provable.
    static func single(
        _ transaction: String, original: String? = nil, product: String = gems, bundle: String = castle,
        behaviour: SimulatedBehaviour? = nil
    ) -> String {
        let purchase = SimulatedPurchase(
            transactionID: transaction, originalTransactionID: original, productID: product,
            purchaseDateMilliseconds: purchasedAt)
        let appleID = bundle == castle ? castleAppleID : 1
        if behaviour == nil, transaction.utf8.last.map({ $0 & 1 == 0 }) ?? false {
            return signed(
                SimulatedReceipt(
                    bundleID: bundle, appAppleID: appleID, creationDateMilliseconds: purchasedAt,
                    purchases: [purchase]))
        }
        return SimulatedTransactionReceipt(
            bundleID: bundle, appAppleID: appleID, purchase: purchase, behaviour: behaviour
        ).base64Encoded()
    }

    /// Signs with the samples' keys. Every worker of these tests trusts the samples' root as Apple's.
    static let signer = Result { try SimulatedSigner(folder: Seeds.signing.path) }

    /// Returns a signed app receipt. A different `number` gives a different creation date, and so different bytes.
    static func app(_ purchases: [SimulatedPurchase], number: Int) -> String {
        signed(
            SimulatedReceipt(
                bundleID: castle, appAppleID: castleAppleID,
                creationDateMilliseconds: purchasedAt + Int64(number) * 1000, purchases: purchases))
    }

    /// Returns the signed receipt. If the samples' keys are missing, returns an unsigned receipt. Tests then fail,
    /// because the outcome differs.
    static func signed(_ receipt: SimulatedReceipt) -> String {
        (try? receipt.base64Encoded { payload in try signer.get().sign(payload) }) ?? receipt.base64Encoded()
    }

    static func subscription(_ transaction: String, expiresAt: Int64, number: Int) -> String {
        app(
            [
                SimulatedPurchase(
                    transactionID: transaction, productID: vip, kind: .autoRenewableSubscription,
                    purchaseDateMilliseconds: purchasedAt, expiresDateMilliseconds: expiresAt)
            ], number: number)
    }
}
