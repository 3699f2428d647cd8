import Encodings
import Fulfillment
import NamesAndTimes

/// The stored form of Apple's answer: JSON with short names, because the ledger stores an answer for every remembered
/// proof.
extension GenuineReceipt {
    package var storedBytes: [UInt8] {
        var json = JSONWriter(capacity: 128 + 192 * purchases.count)
        json.beginObject()
        json.member("bundle", bundleID.text)
        if let appAppleID {
            json.name("app")
            json.number(appAppleID)
        }
        json.member("environment", environment.rawValue)
        if isExpiredSubscription {
            json.name("expired")
            json.bool(true)
        }
        if holdsAutoRenewable {
            json.name("renewable")
            json.bool(true)
        }
        json.milliseconds("created", createdAt)
        json.name("purchases")
        json.beginArray()
        for purchase in purchases { json.write(purchase) }
        json.endArray()
        json.endObject()
        return json.bytes
    }

    /// Reads a stored receipt. Nil if the bytes have another form; the worker then sends a request to Apple.
    package init?(stored bytes: [UInt8]) {
        guard let json = try? JSONParser.parse(bytes).value, let bundle = json["bundle"]?.string,
            let environment = json["environment"]?.string.flatMap(StoreEnvironment.init(rawValue:)),
            let elements = json["purchases"]?.array
        else { return nil }
        let purchases = elements.compactMap(StorePurchase.init(stored:))
        guard purchases.count == elements.count else { return nil }
        self.init(
            bundleID: BundleID(bundle), appAppleID: json["app"]?.integer(Int64.self), environment: environment,
            purchases: purchases, isExpiredSubscription: json["expired"] == .bool(true),
            holdsAutoRenewable: json["renewable"] == .bool(true),
            createdAt: json["created"]?.integer(Int64.self).map(Timestamp.init(milliseconds:)))
    }
}

extension StorePurchase {
    init?(stored json: JSONValue) {
        // Ids stored by an earlier release must pass the same check.
        guard let id = json["id"]?.string.flatMap(TransactionIDText.read),
            let original = (json["original"]?.string).map(TransactionIDText.read) ?? id,
            let product = json["product"]?.string,
            let quantity = json["quantity"]?.integer(Int32.self),
            let purchasedAt = json["purchased"]?.integer(Int64.self)
        else { return nil }
        self.init(
            transactionID: id, originalTransactionID: original, productID: ProductID(product),
            quantity: quantity, purchasedAt: Timestamp(milliseconds: purchasedAt),
            expiresAt: json["expires"]?.integer(Int64.self).map(Timestamp.init(milliseconds:)),
            cancelledAt: json["cancelled"]?.integer(Int64.self).map(Timestamp.init(milliseconds:)),
            isFamilyShared: json["shared"] == .bool(true), appAccountToken: json["token"]?.string,
            currency: json["currency"]?.string,
            appTransactionID: json["app_transaction"]?.string.map { AppTransactionID($0) })
        originalPurchasedAt = json["first"]?.integer(Int64.self).map(Timestamp.init(milliseconds:))
        if let told = json["ownership"]?.string { ownership = Ownership(claim: told) }
        isUpgraded = json["upgraded"] == .bool(true)
        refundedMilliPercent = json["refunded"]?.integer(Int32.self)
        revocationType = json["revocation"]?.string
        type = json["type"]?.string.map { ProductKind(rawValue: $0).map(PurchaseType.known) ?? .other }
        previousOriginalTransactionID = json["previous"]?.string.flatMap(TransactionIDText.read)
        webOrderLineItemID = json["charged"]?.string.map { Identifier($0) }
        unreadable = (json["unreadable"]?.array ?? []).compactMap(\.string)
        told = PurchaseFacts(stored: json)
    }
}

extension PurchaseFacts {
    fileprivate convenience init?(stored json: JSONValue) {
        self.init(
            priceMilliunits: json["price"]?.integer(Int64.self), storefront: json["storefront"]?.string,
            offerType: json["offer"]?.integer(Int32.self), offerDiscountType: json["discount"]?.string,
            transactionReason: json["reason"]?.string, isTrial: json["trial"] == .bool(true))
    }
}

extension JSONValue {
    func integer<Value: FixedWidthInteger>(_: Value.Type) -> Value? {
        if case .number(let text) = self { Value(text) } else { nil }
    }
}

extension JSONWriter {
    mutating func write(_ purchase: StorePurchase) {
        beginObject()
        member("id", purchase.transactionID.text)
        if purchase.originalTransactionID != purchase.transactionID {
            member("original", purchase.originalTransactionID.text)
        }
        member("product", purchase.productID.text)
        name("quantity")
        number(purchase.quantity)
        name("purchased")
        number(purchase.purchasedAt.milliseconds)
        milliseconds("first", purchase.originalPurchasedAt)
        milliseconds("expires", purchase.expiresAt)
        milliseconds("cancelled", purchase.cancelledAt)
        if let part = purchase.refundedMilliPercent {
            name("refunded")
            number(part)
        }
        member("revocation", ifPresent: purchase.revocationType)
        if purchase.isFamilyShared {
            name("shared")
            bool(true)
        }
        if purchase.ownership == .other { member("ownership", purchase.ownership.rawValue) }
        if purchase.isUpgraded {
            name("upgraded")
            bool(true)
        }
        if let type = purchase.type { member("type", type.kind?.rawValue ?? Self.otherType) }
        member("token", ifPresent: purchase.appAccountToken)
        member("currency", ifPresent: purchase.currency)
        member("app_transaction", ifPresent: purchase.appTransactionID?.text)
        member("previous", ifPresent: purchase.previousOriginalTransactionID?.text)
        member("charged", ifPresent: purchase.webOrderLineItemID?.text)
        if let told = purchase.told { write(told) }
        if !purchase.unreadable.isEmpty {
            name("unreadable")
            beginArray()
            for field in purchase.unreadable { string(field) }
            endArray()
        }
        endObject()
    }

    private mutating func write(_ told: PurchaseFacts) {
        if let price = told.priceMilliunits {
            name("price")
            number(price)
        }
        member("storefront", ifPresent: told.storefront)
        if let offer = told.offerType {
            name("offer")
            number(offer)
        }
        member("discount", ifPresent: told.offerDiscountType)
        member("reason", ifPresent: told.transactionReason)
        if told.isTrial {
            name("trial")
            bool(true)
        }
    }

    private static let otherType = "other"

    mutating func milliseconds(_ name: StaticString, _ time: Timestamp?) {
        guard let time else { return }
        self.name(name)
        number(time.milliseconds)
    }
}
