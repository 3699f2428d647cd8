/// The details of one purchase other than its product: quantity, account token, price and so on.
public struct SimulatedTerms: Sendable, Hashable {
    /// The units in one transaction.
    public var quantity = 1
    /// The `appAccountToken`, a UUID that the app sets; nil without one.
    public var accountToken: String?
    /// The price of one unit; nil for the product's price.
    public var price: SimulatedPrice?
    public var offer: SimulatedOffer?
    /// The `inAppOwnershipType`.
    public var ownership = SimulatedPurchase.OwnershipType.purchased.rawValue
    /// The `previousOriginalTransactionId`: the subscription that this purchase continues; nil for none.
    public var previousOriginalTransactionID: String?

    public init(accountToken: String? = nil, quantity: Int = 1, offer: SimulatedOffer? = nil) {
        self.accountToken = accountToken
        self.quantity = quantity
        self.offer = offer
    }
}

public struct SimulatedOffer: Sendable, Hashable, Codable {
    /// The offer's type: 1 introductory, 2 promotional, 3 offer code, 4 win-back.
    public let type: Int
    /// `FREE_TRIAL`, `PAY_AS_YOU_GO`, `PAY_UP_FRONT` or nil.
    public let discountType: String?
    public let identifier: String?

    public init(type: Int, discountType: String? = nil, identifier: String? = nil) {
        self.type = type
        self.discountType = discountType
        self.identifier = identifier
    }

    enum CodingKeys: String, CodingKey {
        case type
        case discountType = "discount_type"
        case identifier
    }

    public static let freeTrial = SimulatedOffer(type: 1, discountType: "FREE_TRIAL")

    static let code = 3
    var isFreeTrial: Bool { discountType == "FREE_TRIAL" }
}
