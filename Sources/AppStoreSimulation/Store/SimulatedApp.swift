/// An app of the simulated App Store, with its products.
public struct SimulatedApp: Sendable, Hashable, Codable {
    public let bundleID: String
    public let appAppleID: Int64
    /// The products by id.
    public let products: [String: SimulatedProduct]
    /// True if the app has an address for version 2 notifications. Without an address, the store makes no
    /// notifications, and Get Notification History answers 4040007.
    public var hasNotificationURL = true

    public init(bundleID: String, appAppleID: Int64, products: [SimulatedProduct]) {
        self.bundleID = bundleID
        self.appAppleID = appAppleID
        self.products = Dictionary(products.map { ($0.id, $0) }) { $1 }
    }

    enum CodingKeys: String, CodingKey {
        case bundleID = "bundle_id"
        case appAppleID = "app_apple_id"
        case products
        case hasNotificationURL = "has_notification_url"
    }

    /// Reads the JSON form, in which `products` is a list.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            bundleID: try container.decode(String.self, forKey: .bundleID),
            appAppleID: try container.decode(Int64.self, forKey: .appAppleID),
            products: try container.decode([SimulatedProduct].self, forKey: .products))
        hasNotificationURL = try container.decodeIfPresent(Bool.self, forKey: .hasNotificationURL) ?? true
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(bundleID, forKey: .bundleID)
        try container.encode(appAppleID, forKey: .appAppleID)
        try container.encode(products.values.sorted { $0.id < $1.id }, forKey: .products)
        try container.encode(hasNotificationURL, forKey: .hasNotificationURL)
    }
}

public struct SimulatedProduct: Sendable, Hashable, Codable {
    public let id: String
    public let kind: SimulatedPurchase.Kind
    public let price: SimulatedPrice
    /// The plan of an auto-renewable subscription; nil for everything else.
    public let plan: SimulatedPlan?

    /// Makes a product that is bought once.
    public init(id: String, kind: SimulatedPurchase.Kind = .consumable, price: SimulatedPrice = .init()) {
        self.id = id
        self.kind = kind
        self.price = price
        plan = nil
    }

    /// Reads the JSON form, which needs an `id`. With a `plan` the product is a subscription. Without a `plan`, `kind`
    /// is Apple's number of the product type. The default of `kind` is a consumable.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        id = try container.decode(String.self, forKey: .id)
        plan = try container.decodeIfPresent(SimulatedPlan.self, forKey: .plan)
        let kind = try container.decodeIfPresent(SimulatedPurchase.Kind.self, forKey: .kind) ?? .consumable
        self.kind = plan == nil ? kind : .autoRenewableSubscription
        price = try container.decodeIfPresent(SimulatedPrice.self, forKey: .price) ?? SimulatedPrice()
    }

    /// Makes an auto-renewable subscription.
    public init(id: String, plan: SimulatedPlan, price: SimulatedPrice = .init()) {
        self.id = id
        kind = .autoRenewableSubscription
        self.price = price
        self.plan = plan
    }
}

public struct SimulatedPlan: Sendable, Hashable, Codable {
    /// The `subscriptionGroupIdentifier`. A customer has at most one active subscription in each group.
    public let groupID: String
    public let periodMilliseconds: Int64
    /// The milliseconds of access after the period's end while Apple cannot charge the customer; 0 without a grace
    /// period.
    public let graceMilliseconds: Int64

    public init(groupID: String, periodMilliseconds: Int64, graceMilliseconds: Int64 = 0) {
        self.groupID = groupID
        self.periodMilliseconds = periodMilliseconds
        self.graceMilliseconds = graceMilliseconds
    }

    enum CodingKeys: String, CodingKey {
        case groupID = "group_id"
        case periodMilliseconds = "period_ms"
        case graceMilliseconds = "grace_ms"
    }
}

public struct SimulatedPrice: Sendable, Hashable, Codable {
    /// The price of one unit, in thousandths of the currency's main unit.
    public let milliunits: Int64
    /// The currency's ISO 4217 code.
    public let currency: String
    /// The storefront's ISO 3166-1 alpha-3 code.
    public let storefront: String

    public init(milliunits: Int64 = 4990, currency: String = "USD", storefront: String = "USA") {
        self.milliunits = milliunits
        self.currency = currency
        self.storefront = storefront
    }
}

/// An Apple account in one app and one environment.
public struct SimulatedAccount: Sendable, Hashable, Codable {
    public let bundleID: String
    public let name: String
    public let environment: SimulatedEnvironment

    public init(_ name: String, bundleID: String, environment: SimulatedEnvironment = .production) {
        self.bundleID = bundleID
        self.name = name
        self.environment = environment
    }
}
