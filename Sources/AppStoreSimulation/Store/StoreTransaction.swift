import Encodings

/// One purchase, or one period of a subscription, in the simulated App Store.
public struct StoreTransaction: Sendable, Hashable {
    public let id: String
    public let originalID: String
    public let account: SimulatedAccount
    public let product: SimulatedProduct
    public let terms: SimulatedTerms
    /// The purchase time in milliseconds since 1970, like all times here.
    public let purchasedAt: Int64
    public let originallyPurchasedAt: Int64
    public internal(set) var expiresAt: Int64?
    /// True if the App Store renewed the subscription; false if the customer bought the product.
    public let isRenewal: Bool
    /// The last digits of the order's id and of `webOrderLineItemId`.
    let number: Int64
    public internal(set) var revocation: Revocation?
    /// The earlier, smaller refunds. They stay valid if Apple reverses the last refund.
    var earlierRevocations: [Revocation] = []
    /// The time at which the customer changed to another plan before this period's end; nil without such a change.
    public internal(set) var upgradedAt: Int64?
    public internal(set) var isFinished = false
    /// The number of the last change that stored this transaction. Get Transaction History sorts by this number.
    var modification = 0

    public struct Revocation: Sendable, Hashable {
        public let at: Int64
        /// The `revocationReason`: 0 or 1.
        public var reason = 0
        /// `REFUND_FULL`, `REFUND_PRORATED`, `FAMILY_REVOKE`.
        public let type: String
        /// The refunded share in thousandths of a percent of the whole quantity; nil if family sharing ended.
        public let milliPercent: Int?
    }

    /// The order's id in Apple's e-mail to the customer.
    public var orderID: String { "M\(account.environment == .sandbox ? "S" : "K")\(number)" }
    var webOrderLineItemID: Int64 { 500_000_000_000_000 + number }
    /// The `webOrderLineItemId` as text.
    public var line: String { String(webOrderLineItemID) }
    public var isPurchased: Bool { terms.ownership == SimulatedPurchase.OwnershipType.purchased.rawValue }
}

extension StoreTransaction {
    private static let types = [
        "Non-Consumable", "Consumable", "Non-Renewing Subscription", "Auto-Renewable Subscription",
    ]

    /// Returns a `JWSTransactionDecodedPayload`.
    func claims(signedAt: Int64) -> String {
        var claims = ClaimsText()
        claims.add("transactionId", id)
        claims.add("originalTransactionId", originalID)
        claims.add("webOrderLineItemId", product.plan.map { _ in String(webOrderLineItemID) })
        claims.add("bundleId", account.bundleID)
        claims.add("productId", product.id)
        claims.add("subscriptionGroupIdentifier", product.plan?.groupID)
        claims.add("purchaseDate", purchasedAt)
        claims.add("originalPurchaseDate", originallyPurchasedAt)
        claims.add("expiresDate", expiresAt)
        claims.add("quantity", Int64(terms.quantity))
        claims.add("type", Self.types[product.kind.rawValue])
        claims.add("appAccountToken", terms.accountToken)
        claims.add("inAppOwnershipType", terms.ownership)
        claims.add("signedDate", signedAt)
        claims.add("environment", account.environment.appleName.description)
        claims.add("transactionReason", isRenewal ? "RENEWAL" : "PURCHASE")
        addPrice(to: &claims)
        claims.add("appTransactionId", account.appTransactionID)
        claims.add("previousOriginalTransactionId", terms.previousOriginalTransactionID)
        if upgradedAt != nil { claims.add("isUpgraded", true) }
        if let revocation {
            claims.add("revocationDate", revocation.at)
            claims.add("revocationReason", Int64(revocation.reason))
            claims.add("revocationType", revocation.type)
            claims.add("revocationPercentage", revocation.milliPercent.map(Int64.init))
        }
        return claims.finished()
    }

    private func addPrice(to claims: inout ClaimsText) {
        let price = terms.price ?? product.price
        let isFree = terms.offer?.isFreeTrial ?? false || !isPurchased
        claims.add("storefront", price.storefront)
        claims.add("storefrontId", "143441")
        claims.add("price", isFree ? 0 : price.milliunits * Int64(terms.quantity))
        claims.add("currency", price.currency)
        guard let offer = terms.offer else { return }
        claims.add("offerType", Int64(offer.type))
        claims.add("offerDiscountType", offer.discountType)
        claims.add("offerIdentifier", offer.identifier)
    }
}

extension SimulatedAccount {
    /// Apple's id for the account in this app: `appTransactionId`.
    var appTransactionID: String {
        let hash = ReceiptHash.hash("app transaction \(environment.rawValue) \(bundleID) \(name)")
        return "70\(hash % 10_000_000_000_000_000)"
    }
}

struct ClaimsText {
    private var text = "{"

    mutating func add(_ name: StaticString, _ value: String?) {
        guard let value else { return }
        begin(name)
        // Nearly every value is a plain identifier, which needs no escapes.
        if value.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }) {
            text += "\"\(value)\""
        } else {
            var writer = JSONWriter()
            writer.string(value)
            text += String(decoding: writer.bytes, as: UTF8.self)
        }
    }

    mutating func add(_ name: StaticString, _ value: Int64?) {
        guard let value else { return }
        begin(name)
        text += String(value)
    }

    mutating func add(_ name: StaticString, _ value: Bool) {
        begin(name)
        text += value ? "true" : "false"
    }

    /// Adds a member whose value is JSON text; nil adds nothing.
    mutating func add(_ name: StaticString, json: String?) {
        guard let json else { return }
        begin(name)
        text += json
    }

    private mutating func begin(_ name: StaticString) { text += text.utf8.count > 1 ? ",\"\(name)\":" : "\"\(name)\":" }

    func finished() -> String { text + "}" }
}
