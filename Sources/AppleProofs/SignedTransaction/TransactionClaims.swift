import Encodings
import Fulfillment
import Identifiers
import Timestamps

/// The claims of a JWS payload, typed: Apple's `JWSTransactionDecodedPayload`.
struct TransactionClaims {
    let purchase: StorePurchase
    let bundleID: BundleID
    let environment: Environment
    let signedDate: Claim<Timestamp>
    /// Thousandths of a percent; nil where nothing was refunded.
    let revocationPercentage: Int32?
    let revocationType: String?
    let subscriptionGroupID: String?
    let previousOriginalTransactionID: StoreTransactionID?
    /// False where a claim that decides something is there and cannot be read.
    let isComplete: Bool

    enum Environment {
        case store(StoreEnvironment)
        /// Signed by Xcode or its test server with a key of its own.
        case local
        /// One that is not known here.
        case other
    }

    /// Nil where the payload is no transaction.
    init?(_ payload: JSONValue) {
        var isComplete = true
        guard case .told(let bundleID) = payload.identifier("bundleId"),
            let environment = Environment(payload["environment"]),
            var purchase = StorePurchase(claims: payload, noting: &isComplete)
        else { return nil }
        self.bundleID = bundleID
        self.environment = environment
        signedDate = payload.date("signedDate")
        let percentage = payload.integer("revocationPercentage").value(noting: &isComplete)
        revocationPercentage = percentage.flatMap { Int32(exactly: $0) }
        if percentage != nil, revocationPercentage == nil { isComplete = false }
        revocationType = payload.identifier("revocationType").told?.text
        subscriptionGroupID = payload.identifier("subscriptionGroupIdentifier").told?.text
        previousOriginalTransactionID =
            payload.identifier("previousOriginalTransactionId").value(noting: &isComplete)
        purchase.refundedMilliPercent = revocationPercentage
        purchase.revocationType = revocationType
        purchase.previousOriginalTransactionID = previousOriginalTransactionID
        // Where it cannot be read a period is known by its times.
        purchase.webOrderLineItemID = payload.digits("webOrderLineItemId")
        self.purchase = purchase
        self.isComplete = isComplete
    }
}

extension TransactionClaims.Environment {
    fileprivate init?(_ claim: JSONValue?) {
        switch claim?.string {
        case "Xcode", "LocalTesting": self = .local
        case let name?: self = StoreEnvironment(rawValue: name).map(Self.store) ?? .other
        case nil: return nil
        }
    }
}

extension StorePurchase {
    /// Nil where no transaction is named. `isComplete` ends where the rest of what it says cannot be read: then what is
    /// read here says which transaction Apple is to be asked about, and nothing more.
    fileprivate init?(claims: JSONValue, noting isComplete: inout Bool) {
        let purchasedAt = claims.date("purchaseDate")
        guard case .told(let transactionID) = claims.identifier("transactionId"),
            case .told(let productID) = claims.identifier("productId"), purchasedAt.isTold
        else { return nil }
        let original = claims.identifier("originalTransactionId").value(noting: &isComplete)
        let quantity = Claim(claims["quantity"]) { _ in
            claims.integer("quantity").told.flatMap { Int32(exactly: $0) }.flatMap { $0 >= 1 ? $0 : nil }
        }
        let ownership = claims.text("inAppOwnershipType").value(noting: &isComplete).map(Ownership.init(claim:))
        let token = claims.text("appAccountToken").value(noting: &isComplete).map(AccountToken.init(told:))
        if token == .malformed { isComplete = false }
        self.init(
            transactionID: transactionID, originalTransactionID: original ?? transactionID, productID: productID,
            quantity: quantity.value(noting: &isComplete) ?? 1,
            purchasedAt: purchasedAt.value(noting: &isComplete) ?? Timestamp(milliseconds: 0),
            expiresAt: claims.date("expiresDate").value(noting: &isComplete),
            cancelledAt: claims.date("revocationDate").value(noting: &isComplete),
            appAccountToken: token?.text,
            // The next two decide little: what cannot be read of them counts as absent.
            currency: claims.identifier("currency").told?.text.uppercased(),
            appTransactionID: claims.identifier("appTransactionId").told)
        self.ownership = ownership ?? .purchased
        subscriptionGroupID = claims.identifier("subscriptionGroupIdentifier").told?.text
        isUpgraded = claims.flag("isUpgraded").value(noting: &isComplete) ?? false
        type = claims.text("type").value(noting: &isComplete).map(PurchaseType.init(claim:))
        told = PurchaseFacts(claims: claims)
    }
}

extension PurchaseFacts {
    /// Nothing of it decides: what cannot be read counts as absent.
    fileprivate convenience init?(claims: JSONValue) {
        func word(_ name: String) -> String? { claims.identifier(name).told?.text }
        self.init(
            priceMilliunits: claims.integer("price").told, storefront: word("storefront"),
            offerType: claims.integer("offerType").told.flatMap { Int32(exactly: $0) },
            offerDiscountType: word("offerDiscountType"), transactionReason: word("transactionReason"))
    }
}

extension PurchaseType {
    fileprivate init(claim: String) {
        switch claim {
        case "Consumable": self = .known(.consumable)
        case "Non-Consumable": self = .known(.nonConsumable)
        case "Non-Renewing Subscription": self = .known(.nonRenewingSubscription)
        case "Auto-Renewable Subscription": self = .known(.autoRenewableSubscription)
        default: self = .other
        }
    }
}
