import Encodings
import Fulfillment
import NamesAndTimes

/// The typed claims of Apple's `JWSTransactionDecodedPayload`.
struct TransactionClaims {
    /// The purchase, with the names of all unreadable claims, among them the environment and the signing time.
    let purchase: StorePurchase
    let bundleID: BundleID
    /// The environment; nil if it is unreadable or unknown.
    let environment: Environment?
    let signedDate: Claim<Timestamp>

    enum Environment {
        case store(StoreEnvironment)
        /// Xcode or its test server signed the transaction with a key of its own.
        case local
    }

    /// The reason why a payload names no purchase.
    enum Fault: Error, Equatable {
        case notATransaction
        /// The payload is a transaction, but receiptd cannot read this identifying field.
        case nameless(String)
    }

    init(_ payload: JSONValue) throws(Fault) {
        bundleID = try payload.required("bundleId", JSONValue.identifier)
        let transactionID = try payload.required("transactionId", JSONValue.transactionID)
        let productID = try payload.required("productId", JSONValue.identifier)
        let original = payload.transactionID("originalTransactionId")
        if case .unreadable = original { throw .nameless("originalTransactionId") }
        var claim = ClaimReader(payload)
        // Every transaction has an environment, so an absent environment counts as unreadable.
        environment = claim("environment") { payload in { payload.environment($0).orUnreadable } }
        signedDate = payload.signedDate
        _ = claim("signedDate") { payload in { _ in payload.signedDate } }
        purchase = StorePurchase(
            transactionID, original: original.told, productID, reading: &claim, besides: payload)
    }
}

extension JSONValue {
    fileprivate func required<Value>(
        _ name: String, _ read: (JSONValue) -> (String) -> Claim<Value>
    ) throws(TransactionClaims.Fault) -> Value {
        switch read(self)(name) {
        case .told(let value): return value
        case .absent: throw .notATransaction
        case .unreadable: throw .nameless(name)
        }
    }

    fileprivate func environment(_ name: String) -> Claim<TransactionClaims.Environment> {
        Claim(self[name]) { claim in
            switch claim.string {
            case "Xcode", "LocalTesting": .local
            case let name?: StoreEnvironment(rawValue: name).map { .store($0) }
            case nil: nil
            }
        }
    }

    /// The signing time. A number outside the years 1 to 9999 counts as a time at which no certificate was valid.
    fileprivate var signedDate: Claim<Timestamp> {
        if let told = self["signedDate"], told.isOutsideAllTimes { return .told(.beforeAllCertificates) }
        return date("signedDate")
    }
}

extension Timestamp {
    /// The year 1.
    fileprivate static let beforeAllCertificates = Timestamp(milliseconds: -62_135_596_800_000)
}

extension StorePurchase {
    /// Makes the purchase, with the names of its unreadable fields. The property of an unreadable field has a
    /// meaningless value. receiptd does not grant a purchase with an unreadable field.
    fileprivate init(
        _ transactionID: StoreTransactionID, original: StoreTransactionID?, _ productID: ProductID,
        reading claim: inout ClaimReader, besides claims: JSONValue
    ) {
        self.init(
            transactionID: transactionID, originalTransactionID: original ?? transactionID, productID: productID,
            quantity: claim("quantity", JSONValue.quantity) ?? 1,
            purchasedAt: claim("purchaseDate") { payload in { payload.date($0).orUnreadable } }
                ?? Timestamp(milliseconds: 0),
            expiresAt: claim("expiresDate", JSONValue.date), cancelledAt: claim("revocationDate", JSONValue.date),
            appAccountToken: claim("appAccountToken", JSONValue.accountToken)?.text,
            // An unreadable value of the next two fields counts as absent, because little depends on them.
            currency: claims.identifier("currency").told?.text.uppercased(),
            appTransactionID: claims.identifier("appTransactionId").told)
        ownership = claim("inAppOwnershipType", JSONValue.text).map(Ownership.init(claim:)) ?? .purchased
        isUpgraded = claim("isUpgraded", JSONValue.flag) ?? false
        type = claim("type", JSONValue.text).map(PurchaseType.init(claim:))
        refundedMilliPercent = claim("revocationPercentage", JSONValue.milliPercent)
        previousOriginalTransactionID = claim("previousOriginalTransactionId", JSONValue.transactionID)
        unreadable = claim.unreadable
        // If the id is unreadable, receiptd identifies the period by its times.
        webOrderLineItemID = claims.digits("webOrderLineItemId")
        // If this time is absent or unreadable, the rules use the copy's own purchase time.
        if isRestoredCopy { originalPurchasedAt = claims.date("originalPurchaseDate").told }
        // No rule reads the fields below.
        revocationType = claims.identifier("revocationType").told?.text
        subscriptionGroupID = claims.identifier("subscriptionGroupIdentifier").told?.text
        told = PurchaseFacts(claims: claims)
    }
}

extension JSONValue {
    fileprivate func milliPercent(_ name: String) -> Claim<Int32> {
        Claim(self[name]) { _ in integer(name).told.flatMap { Int32(exactly: $0) } }
    }
}

extension PurchaseFacts {
    /// Reads the facts that no rule reads. An unreadable fact counts as absent.
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
