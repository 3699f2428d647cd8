import Encodings

/// Apple's facts about one purchase that no rule reads. These facts appear in events and reports.
///
/// The type is a class, so that a purchase without these facts uses no memory for them.
public final class PurchaseFacts: Sendable, Equatable {
    /// The price of the whole quantity, in thousandths of the currency's unit; nil if Apple names none. Apple advises
    /// against reconciling with this price.
    public let priceMilliunits: Int64?
    /// The storefront's ISO 3166-1 alpha-3 code; nil if Apple names none.
    public let storefront: String?
    /// Apple's number of the offer's type; nil without an offer.
    public let offerType: Int32?
    public let offerDiscountType: String?
    /// `PURCHASE` or `RENEWAL`; nil if Apple does not say.
    public let transactionReason: String?
    /// True if the period is a free trial.
    public let isTrial: Bool

    /// Apple's `offerDiscountType` of a free trial.
    public static let freeTrial = "FREE_TRIAL"

    /// Makes the facts; nil if no fact is given.
    public init?(
        priceMilliunits: Int64? = nil, storefront: String? = nil, offerType: Int32? = nil,
        offerDiscountType: String? = nil, transactionReason: String? = nil, isTrial: Bool = false
    ) {
        let isTrial = isTrial || offerDiscountType == Self.freeTrial
        let isTold =
            priceMilliunits != nil || storefront != nil || offerType != nil || offerDiscountType != nil
            || transactionReason != nil || isTrial
        guard isTold else { return nil }
        self.priceMilliunits = priceMilliunits
        self.storefront = storefront
        self.offerType = offerType
        self.offerDiscountType = offerDiscountType
        self.transactionReason = transactionReason
        self.isTrial = isTrial
    }

    public static func == (left: PurchaseFacts, right: PurchaseFacts) -> Bool {
        left.priceMilliunits == right.priceMilliunits && left.storefront == right.storefront
            && left.offerType == right.offerType && left.offerDiscountType == right.offerDiscountType
            && left.transactionReason == right.transactionReason && left.isTrial == right.isTrial
    }
}

extension OutcomeEvent {
    /// The members for the currency and for Apple's facts, in their order in granted and reinstated events.
    static let toldMembers = [
        "price_milliunits", "currency", "storefront", "offer_type", "offer_discount_type", "transaction_reason",
        "is_trial",
    ]
}

extension JSONWriter {
    /// Writes Apple's facts about the purchase. Writes no member for an absent fact.
    public mutating func writeTold(of purchase: StorePurchase) {
        if let price = purchase.told?.priceMilliunits {
            name("price_milliunits")
            number(price)
        }
        member("currency", ifPresent: purchase.currency)
        guard let told = purchase.told else { return }
        member("storefront", ifPresent: told.storefront)
        if let offer = told.offerType {
            name("offer_type")
            number(offer)
        }
        member("offer_discount_type", ifPresent: told.offerDiscountType)
        member("transaction_reason", ifPresent: told.transactionReason)
        if told.isTrial {
            name("is_trial")
            bool(true)
        }
    }
}
