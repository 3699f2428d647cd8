import Encodings
import Fulfillment
import NamesAndTimes

/// The claims of a JWS payload, typed: Apple's `JWSTransactionDecodedPayload`.
struct TransactionClaims {
    /// The purchase, with the names of all unreadable facts, the environment and the signing time included.
    let purchase: StorePurchase
    let bundleID: BundleID
    /// The environment; nil if it cannot be read or is unknown.
    let environment: Environment?
    let signedDate: Claim<Timestamp>

    enum Environment {
        case store(StoreEnvironment)
        /// Xcode or its test server signed it with a key of its own.
        case local
    }

    /// The reason why a payload names no purchase.
    enum Fault: Error, Equatable {
        case notATransaction
        /// The payload is a transaction, and this identifying field cannot be read.
        case nameless(String)
    }

    init(_ payload: JSONValue) throws(Fault) {
        bundleID = try payload.required("bundleId", JSONValue.identifier)
        let transactionID = try payload.required("transactionId", JSONValue.transactionID)
        let productID = try payload.required("productId", JSONValue.identifier)
        let original = payload.transactionID("originalTransactionId")
        if case .unreadable = original { throw .nameless("originalTransactionId") }
        var claim = ClaimReader(payload)
        // Every transaction has an environment, so an absent one counts as unreadable.
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

    /// The signing time. A number beyond all times counts as a time at which no certificate was valid.
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
    /// Notes the fields that cannot be read. The value in place of such a field means nothing, and no grant follows
    /// from it.
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
            // The next two fields decide little: an unreadable one counts as absent.
            currency: claims.identifier("currency").told?.text.uppercased(),
            appTransactionID: claims.identifier("appTransactionId").told)
        ownership = claim("inAppOwnershipType", JSONValue.text).map(Ownership.init(claim:)) ?? .purchased
        isUpgraded = claim("isUpgraded", JSONValue.flag) ?? false
        type = claim("type", JSONValue.text).map(PurchaseType.init(claim:))
        refundedMilliPercent = claim("revocationPercentage", JSONValue.milliPercent)
        previousOriginalTransactionID = claim("previousOriginalTransactionId", JSONValue.transactionID)
        unreadable = claim.unreadable
        // If the number cannot be read, receiptd knows the period by its times.
        webOrderLineItemID = claims.digits("webOrderLineItemId")
        // The fields below decide nothing.
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
    /// Reads facts that decide nothing. An unreadable one counts as absent.
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
