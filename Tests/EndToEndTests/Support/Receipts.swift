import AppStoreSimulation
import Foundation

/// The maker and signer of all the generator's receipts.
enum Receipts {
    static let castle = "com.example.castle"
    static let castleAppleID: Int64 = 1_450_000_001
    static let gems = "com.example.castle.gems.100"
    static let builder = "com.example.castle.builder"
    static let vip = "com.example.castle.vip.month"
    static let retired = "com.example.castle.retired.hold"
    /// The purchase time 2026-05-01T10:00:00Z, in milliseconds since 1970.
    static let purchasedAt: Int64 = 1_777_629_600_000

    /// Returns a receipt with one purchase. A transaction id with an even last digit gets a proven receipt. Other ids,
    /// and receipts with a simulated behaviour, get an iOS 6 receipt, whose signature is not provable.
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

    /// The signer with the seeds' keys. Every worker of these tests trusts the seeds' root as Apple's root.
    static let signer = Result { try SimulatedSigner(folder: Seeds.signing.path) }

    /// Returns a proven receipt of iOS 7 and later. Each `number` gives another creation date, and so other bytes.
    static func app(_ purchases: [SimulatedPurchase], number: Int) -> String {
        signed(
            SimulatedReceipt(
                bundleID: castle, appAppleID: castleAppleID,
                creationDateMilliseconds: purchasedAt + Int64(number) * 1000, purchases: purchases))
    }

    /// Returns the signed receipt, or an unsigned one where the seeds' keys are missing. Tests then fail on its
    /// outcome.
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
