import Fulfillment

/// The claims of a JWS payload, typed: Apple's `JWSTransactionDecodedPayload`.
struct TransactionClaims {
    let purchase: StorePurchase
    let kind: ProductKind?
    let bundleID: BundleID
    let environment: Environment
    let priceInThousandths: Int64?
    let storefront: String?
    let signedDate: Timestamp?
    /// Thousandths of a percent; nil where nothing was refunded.
    let revocationPercentage: Int32?

    enum Environment {
        case store(StoreEnvironment)
        /// Signed by Xcode or its test server with a key of its own.
        case local
    }

    /// Nil where the payload is no transaction.
    init?(_ payload: JSONValue) {
        guard let bundleID = payload.identifier("bundleId"), let environment = Environment(payload["environment"]),
            let purchase = StorePurchase(claims: payload)
        else { return nil }
        self.purchase = purchase
        self.bundleID = bundleID
        self.environment = environment
        kind = payload["type"]?.string.flatMap(ProductKind.init(claim:))
        priceInThousandths = payload["price"]?.integer
        storefront = payload.identifier("storefront")?.text
        signedDate = payload.date("signedDate")
        revocationPercentage = payload["revocationPercentage"]?.integer.flatMap { Int32(exactly: $0) }
    }
}

extension TransactionClaims.Environment {
    fileprivate init?(_ claim: JSONValue?) {
        switch claim?.string {
        case "Xcode", "LocalTesting": self = .local
        case let name?:
            guard let environment = StoreEnvironment(rawValue: name) else { return nil }
            self = .store(environment)
        case nil: return nil
        }
    }
}

extension StorePurchase {
    fileprivate init?(claims: JSONValue) {
        guard let transactionID = claims.identifier("transactionId"), let productID = claims.identifier("productId"),
            let purchasedAt = claims.date("purchaseDate"), let quantity = claims.quantity
        else { return nil }
        self.init(
            transactionID: transactionID,
            originalTransactionID: claims.identifier("originalTransactionId") ?? transactionID,
            productID: productID, quantity: quantity, purchasedAt: purchasedAt, expiresAt: claims.date("expiresDate"),
            cancelledAt: claims.date("revocationDate"),
            isFamilyShared: claims["inAppOwnershipType"]?.string == "FAMILY_SHARED",
            appAccountToken: claims.identifier("appAccountToken")?.text.lowercased(),
            currency: claims.identifier("currency")?.text.uppercased(),
            appTransactionID: claims.identifier("appTransactionId"))
    }
}

extension ProductKind {
    fileprivate init?(claim: String) {
        switch claim {
        case "Consumable": self = .consumable
        case "Non-Consumable": self = .nonConsumable
        case "Non-Renewing Subscription": self = .nonRenewingSubscription
        case "Auto-Renewable Subscription": self = .autoRenewableSubscription
        default: return nil
        }
    }
}

extension JSONValue {
    fileprivate func identifier(_ name: String) -> Identifier? {
        self[name]?.string.flatMap { ReceiptText.identifier($0) }
    }

    /// Milliseconds since 1970.
    fileprivate func date(_ name: String) -> Timestamp? {
        self[name]?.integer.map(Timestamp.init(milliseconds:))
    }

    fileprivate var quantity: Int32? {
        guard let claim = self["quantity"] else { return 1 }
        return claim.integer.flatMap { Int32(exactly: $0) }.flatMap { $0 >= 1 ? $0 : nil }
    }

    fileprivate var integer: Int64? {
        guard case .number(let text) = self else { return nil }
        return Int64(text) ?? Double(text).flatMap { Int64(exactly: $0) }
    }
}
