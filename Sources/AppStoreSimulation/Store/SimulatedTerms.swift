/// The terms that a customer agrees to beside the product.
public struct SimulatedTerms: Sendable, Hashable {
    /// The units in one transaction.
    public var quantity = 1
    /// A UUID that the app sets, `appAccountToken`; nil without one.
    public var accountToken: String?
    /// The price in place of the product's; nil takes the product's.
    public var price: SimulatedPrice?
    public var offer: SimulatedOffer?
    /// `inAppOwnershipType`.
    public var ownership = SimulatedPurchase.OwnershipType.purchased.rawValue
    /// `previousOriginalTransactionId`: the subscription that this one continues; nil for none.
    public var previousOriginalTransactionID: String?

    public init(accountToken: String? = nil, quantity: Int = 1, offer: SimulatedOffer? = nil) {
        self.accountToken = accountToken
        self.quantity = quantity
        self.offer = offer
    }
}

public struct SimulatedOffer: Sendable, Hashable, Codable {
    /// 1 introductory, 2 promotional, 3 offer code, 4 win-back.
    public let type: Int
    /// `FREE_TRIAL`, `PAY_AS_YOU_GO`, `PAY_UP_FRONT`.
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
