import AppStoreSimulation

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

    /// Of iOS 6: one purchase, and a signature that nobody can prove.
    static func single(
        _ transaction: String, original: String? = nil, product: String = gems, bundle: String = castle,
        behaviour: SimulatedBehaviour? = nil
    ) -> String {
        SimulatedTransactionReceipt(
            bundleID: bundle, appAppleID: bundle == castle ? castleAppleID : 1,
            purchase: SimulatedPurchase(
                transactionID: transaction, originalTransactionID: original, productID: product,
                purchaseDateMilliseconds: purchasedAt),
            behaviour: behaviour
        ).base64Encoded()
    }

    /// Of iOS 7 and later. Each has bytes of its own, whatever it holds: no two have one creation date.
    static func app(_ purchases: [SimulatedPurchase], number: Int) -> String {
        SimulatedReceipt(
            bundleID: castle, appAppleID: castleAppleID,
            creationDateMilliseconds: purchasedAt + Int64(number) * 1000, purchases: purchases
        ).base64Encoded()
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
