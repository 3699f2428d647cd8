import AppStoreSimulation
import Foundation

/// The only place where receipts of the generator get their signatures.
enum Receipts {
    static let castle = "com.example.castle"
    static let castleAppleID: Int64 = 1_450_000_001
    static let gems = "com.example.castle.gems.100"
    static let builder = "com.example.castle.builder"
    static let vip = "com.example.castle.vip.month"
    static let retired = "com.example.castle.retired.hold"
    /// 2026-05-01T10:00:00Z.
    static let purchasedAt: Int64 = 1_777_629_600_000

    /// One purchase. Every other transaction is in a proven receipt; the rest, and those of which Apple says what it
    /// is told to, are of iOS 6, whose signatures nobody can prove.
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

    /// The keys of the seeds, whose root every worker of these tests takes for Apple's.
    static let signer = Result { try SimulatedSigner(folder: Seeds.signing.path) }

    /// A proven receipt of iOS 7 and later. Each has bytes of its own, whatever it holds: no two have one creation
    /// date.
    static func app(_ purchases: [SimulatedPurchase], number: Int) -> String {
        signed(
            SimulatedReceipt(
                bundleID: castle, appAppleID: castleAppleID,
                creationDateMilliseconds: purchasedAt + Int64(number) * 1000, purchases: purchases))
    }

    /// Unsigned where the seeds' keys are missing: then nothing that rests on it comes out as expected.
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
