import Foundation

/// An App Store Server Notification, version 2 (source: Apple's `responseBodyV2DecodedPayload`).
public struct SimulatedNotification: Sendable {
    /// `notificationType`: `REFUND`, `REVOKE`, `REFUND_REVERSED`, `TEST` and so on.
    public var type: String
    /// `notificationUUID`.
    public var id: String
    public var bundleID: String
    /// Apple's number of the app. Nil leaves it out, as Apple does in the sandbox.
    public var appAppleID: Int64?
    public var environment: SimulatedEnvironment
    public var signedDateMilliseconds: Int64
    /// The claims of `signedTransactionInfo`, as a JSON object; nil for a notification without a transaction.
    public var transaction: String?
    /// The `subtype`; nil without one.
    public var subtype: String?
    /// The claims of `signedRenewalInfo`, as a JSON object; nil unless the notification is about a subscription.
    public var renewal: String?
    /// The subscription's status, 1 to 5; nil unless the notification is about a subscription.
    public var status: Int?
    /// The reason of a `CONSUMPTION_REQUEST`; nil for every other type.
    public var consumptionRequestReason: String?

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

    /// Returns the notification as JSON.
    /// - Parameter signed: the JWS of the transaction and the JWS of the renewal info.
    func payload(_ signed: (transaction: String?, renewal: String?)) -> String {
        var data = ClaimsText()
        data.add("appAppleId", appAppleID)
        data.add("bundleId", bundleID)
        data.add("bundleVersion", "1")
        data.add("environment", environment.appleName.description)
        data.add("signedTransactionInfo", signed.transaction)
        data.add("signedRenewalInfo", signed.renewal)
        data.add("status", status.map(Int64.init))
        data.add("consumptionRequestReason", consumptionRequestReason)
        var payload = ClaimsText()
        payload.add("notificationType", type)
        payload.add("subtype", subtype)
        payload.add("notificationUUID", id)
        payload.add("version", "2.0")
        payload.add("signedDate", signedDateMilliseconds)
        payload.add("data", json: data.finished())
        return payload.finished()
    }
}

extension SimulatedNotification {
    /// Returns the claims of a purchase as a JSON object, for the property `transaction` of a notification.
    /// - Parameters:
    ///   - revokedAt: the `revocationDate`, in milliseconds since 1970; nil without a refund, or after its reversal.
    ///   - milliPercent: the `revocationPercentage`, in thousandths of a percent.
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
