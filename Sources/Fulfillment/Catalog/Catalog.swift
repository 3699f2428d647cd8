import NamesAndTimes

/// The studio's apps, their policies and their products.
public struct Catalog: Sendable, Equatable {
    /// The number of imports so far; 0 if there is no catalog.
    public let version: Int64
    public let apps: [BundleID: AppPolicy]
    /// The terms of each app with this `version`. All submissions of an app share one object.
    public let terms: [BundleID: AppTerms]

    public init(version: Int64, apps: [AppPolicy]) {
        self.version = version
        self.apps = Dictionary(apps.map { ($0.bundleID, $0) }, uniquingKeysWith: { first, _ in first })
        terms = self.apps.mapValues { AppTerms($0, catalogVersion: version) }
    }

    /// The apps in which workers grant purchases that nobody submitted, sorted.
    public var appsGrantingMissedPurchases: [BundleID] {
        apps.values.filter { $0.announcements.missedPurchases == .grant }.map(\.bundleID).sorted()
    }
}

/// One app of the catalog. docs/contract/catalog.md lists the app's keys and their defaults.
public struct AppPolicy: Sendable, Equatable {
    public let bundleID: BundleID
    /// Apple's number of the app (`adam_id`); nil if the catalog has none. receiptd compares the number only in
    /// Production.
    public var appAppleID: Int64?
    /// The name of the setting that holds the shared secret; nil if the catalog names none.
    public var sharedSecretSetting: String?
    public var serverAPI: ServerAPICredentials?
    public var verification = Verification.apple
    public var sandbox = SandboxPolicy.reject
    private var accountTokenTerms = AccountTokenTerms()
    /// Workers hold a purchase that is older than this time and that the ledger lacks; nil to hold none for its age.
    public var cutover: Timestamp?
    public var acceptsFamilyShared = false
    /// The admitted currencies in upper case; nil admits all.
    public var currencies: Set<String>?
    public var risk = RiskThresholds()
    public var announcements = AnnouncementPolicy()
    public var products: [ProductID: Product] = [:]

    public init(bundleID: BundleID) {
        self.bundleID = bundleID
    }

    public var accountToken: AccountTokenPolicy {
        get { accountTokenTerms.policy }
        set { accountTokenTerms.policy = newValue }
    }

    public var accountTokenIs: AccountTokenMeaning {
        get { accountTokenTerms.meaning }
        set { accountTokenTerms.meaning = newValue }
    }

    private struct AccountTokenTerms: Sendable, Equatable {
        var policy = AccountTokenPolicy.compare
        var meaning = AccountTokenMeaning.none
    }

    public var followsRenewals: Bool {
        (announcements.renewals ?? (serverAPI == nil ? .off : .follow)) == .follow
    }

    public enum Verification: String, Sendable, CaseIterable {
        case apple
        case local
    }

    public enum SandboxPolicy: Sendable, Equatable {
        case reject
        case allowlist(Set<PlayerID>)
        case accept

        public func admits(_ player: PlayerID) -> Bool {
            switch self {
            case .reject: false
            case .allowlist(let players): players.contains(player)
            case .accept: true
            }
        }
    }

    /// The meaning of an `appAccountToken` for which the game published no record on the topic `player-accounts`.
    public enum AccountTokenMeaning: String, Sendable, CaseIterable {
        case none
        /// The token is the player's id, which is a UUID in lower case.
        case playerID = "player_id"
    }

    public enum AccountTokenPolicy: String, Sendable, CaseIterable {
        case compare
        case require
    }
}

public struct ServerAPICredentials: Sendable, Hashable {
    public var issuerID: String
    public var keyID: String
    /// The name of the setting that holds the private key.
    public var privateKeySetting: String

    public init(issuerID: String, keyID: String, privateKeySetting: String) {
        self.issuerID = issuerID
        self.keyID = keyID
        self.privateKeySetting = privateKeySetting
    }
}

/// The policy for purchases that Apple announces, and for receiptd's own requests to Apple.
public struct AnnouncementPolicy: Sendable, Equatable {
    /// True to read Apple's notification history, which needs `serverAPI`.
    public var readsNotificationHistory = true
    public var missedPurchases = MissedPurchasePolicy.report
    /// The policy for subscriptions. If nil, workers follow them if the app has a `serverAPI`.
    public var renewals: RenewalPolicy?
    /// True if a worker must ask Apple before it rejects a receipt as unauthentic or malformed.
    public var asksBeforeRefusing = false
    /// True if a worker must look up a receipt's older consumables at Apple before it grants them. A receipt does not
    /// show refunds of consumables.
    public var checksRefunds = false
    /// True if workers report each delivered grant to Apple.
    public var finishesGrants = false
    /// The policy for Apple's questions about refunds; nil to leave the questions unanswered.
    public var consumption: ConsumptionPolicy?

    public init() {}

    /// The treatment of purchases that nobody submitted.
    public enum MissedPurchasePolicy: String, Sendable, CaseIterable {
        case report
        case grant
        case off
    }

    public enum RenewalPolicy: String, Sendable, CaseIterable {
        case follow
        case off
    }
}

/// The policy for Apple's questions about refunds. By setting this policy, the studio confirms that its players
/// consented to the answers.
public struct ConsumptionPolicy: Sendable, Equatable {
    /// The preference that workers send to Apple; nil to send none.
    public var refundPreference: RefundPreference?
    public var providesSampleContent = false

    public init() {}

    /// The studio's preference about a refund, in the words of the catalog and of the game's reports.
    public enum RefundPreference: String, Sendable, CaseIterable {
        case decline
        case grantFull = "grant_full"
        case grantProrated = "grant_prorated"
    }
}

public struct RiskThresholds: Sendable, Equatable {
    public var sharedDevicePlayers = 5
    public var manyAccounts = 5
    public var smallPurchasesPerDay = 20

    public var highest: Int { max(sharedDevicePlayers, manyAccounts, smallPurchasesPerDay) }

    public init() {}
}

public struct Product: Sendable, Equatable {
    public var id: ProductID
    public var kind: ProductKind
    public var isRetired = false
    public var onRetired = RetiredAction.hold
    /// The most grants of this product to one player for purchases of one UTC day; nil for no limit.
    public var dailyLimit: Int?
    /// True if a worker grants a period of an auto-renewable subscription even after the period's end.
    public var grantsLatePeriods = false
    /// A JSON object that granted events copy unchanged; nil without a payload.
    public var payload: String?

    public init(id: ProductID, kind: ProductKind) {
        self.id = id
        self.kind = kind
    }

    public enum RetiredAction: String, Sendable, CaseIterable {
        case hold
        case grant
        case reject
    }
}

/// The product's type in Apple's words.
public enum ProductKind: String, Sendable, CaseIterable {
    case consumable
    case nonConsumable = "non_consumable"
    case nonRenewingSubscription = "non_renewing_subscription"
    case autoRenewableSubscription = "auto_renewable_subscription"

    /// True if the owner of the original transaction also owns all later transactions that refer to it.
    public var isOwnedByOriginal: Bool { self != .consumable }
}
