import Foundation

/// An App Store Server Notification, version 2 (source: Apple's `responseBodyV2DecodedPayload`).
public struct SimulatedNotification: Sendable {
    /// `notificationType`: `REFUND`, `REVOKE`, `REFUND_REVERSED`, `TEST` and so on.
    public var type: String
    /// `notificationUUID`.
    public var id: String
    public var bundleID: String
    /// Nil leaves it out, as in the sandbox.
    public var appAppleID: Int64?
    public var environment: SimulatedEnvironment
    public var signedDateMilliseconds: Int64
    /// The claims of `signedTransactionInfo`, a JSON object; nil for a notification without a transaction.
    public var transaction: String?

    public init(
        type: String, id: String, bundleID: String, appAppleID: Int64? = nil,
        environment: SimulatedEnvironment = .production, signedDateMilliseconds: Int64, transaction: String?
    ) {
        self.type = type
        self.id = id
        self.bundleID = bundleID
        self.appAppleID = appAppleID
        self.environment = environment
        self.signedDateMilliseconds = signedDateMilliseconds
        self.transaction = transaction
    }

    func payload(signedTransaction: String?) -> String {
        let data = [
            appAppleID.map { #""appAppleId":\#($0)"# }, #""bundleId":"\#(bundleID)""#, #""bundleVersion":"1""#,
            #""environment":"\#(environment.appleName)""#,
            signedTransaction.map { #""signedTransactionInfo":"\#($0)""# },
        ].compactMap(\.self).joined(separator: ",")
        return """
            {"notificationType":"\(type)","notificationUUID":"\(id)","version":"2.0",\
            "signedDate":\(signedDateMilliseconds),"data":{\(data)}}
            """
    }
}

extension SimulatedNotification {
    /// The claims of a purchase as Apple repeats them in a notification.
    /// - Parameters:
    ///   - revokedAt: `revocationDate`, in milliseconds since 1970; nil once it was reversed.
    ///   - milliPercent: `revocationPercentage`.
    public static func claims(
        of purchase: SimulatedPurchase, bundleID: String, environment: SimulatedEnvironment = .production,
        signedDateMilliseconds: Int64, revokedAt: Int64? = nil, milliPercent: Int? = nil
    ) -> String {
        let types = ["Non-Consumable", "Consumable", "Non-Renewing Subscription", "Auto-Renewable Subscription"]
        let members = [
            #""transactionId":"\#(purchase.transactionID)""#,
            #""originalTransactionId":"\#(purchase.originalTransactionID)""#, #""bundleId":"\#(bundleID)""#,
            #""productId":"\#(purchase.productID)""#, #""purchaseDate":\#(purchase.purchaseDateMilliseconds)"#,
            #""originalPurchaseDate":\#(purchase.originalPurchaseDateMilliseconds)"#,
            purchase.expiresDateMilliseconds.map { #""expiresDate":\#($0)"# },
            #""quantity":\#(purchase.quantity)"#, #""type":"\#(types[purchase.kind.rawValue])""#,
            purchase.appAccountToken.map { #""appAccountToken":"\#($0)""# },
            #""inAppOwnershipType":"\#(purchase.ownershipType.rawValue)""#,
            #""signedDate":\#(signedDateMilliseconds)"#, #""environment":"\#(environment.appleName)""#,
            revokedAt.map { #""revocationDate":\#($0),"revocationReason":0"# },
            milliPercent.map { #""revocationPercentage":\#($0)"# },
        ]
        return "{" + members.compactMap(\.self).joined(separator: ",") + "}"
    }
}
