import NamesAndTimes

/// The ledger's facts that decide the risk signals of a batch. A risk signal is for people. No rule reads it.
public struct RiskFacts: Sendable {
    public struct Device: Sendable, Hashable {
        public let bundleID: BundleID
        public let id: Identifier

        public init(bundleID: BundleID, id: Identifier) {
            self.bundleID = bundleID
            self.id = id
        }
    }

    public struct PlayerDay: Sendable, Hashable {
        public let bundleID: BundleID
        public let player: PlayerID
        /// The UTC day of the purchase, in days since 1970.
        public let day: Int32

        public init(bundleID: BundleID, player: PlayerID, day: Int32) {
            self.bundleID = bundleID
            self.player = player
            self.day = day
        }
    }

    /// A player in one app. The ledger counts Apple accounts for each app, because an account's `appTransactionId`
    /// differs from app to app.
    public struct PlayerOfApp: Sendable, Hashable {
        public let bundleID: BundleID
        public let player: PlayerID

        public init(bundleID: BundleID, player: PlayerID) {
            self.bundleID = bundleID
            self.player = player
        }
    }

    /// The days over which the ledger counts a device's players.
    public static let deviceDays: Int32 = 30
    /// The ledger counts at most this many players of a device, Apple accounts of a player, or purchases of a day. So a
    /// much higher threshold is never reached.
    public static let maximumCounted: Int64 = 1_000

    public var playersOfDevice: [Device: Set<PlayerID>] = [:]
    /// The accounts that made the player's granted purchases, as far as Apple named them.
    public var accountsOfPlayer: [PlayerOfApp: Set<AppTransactionID>] = [:]
    public var purchasesOfDay: [PlayerDay: Int] = [:]

    public init() {}
}

/// A signal of an event's `risk`.
public enum RiskSignal: String, Sendable, CaseIterable {
    case sharedDevice = "shared_device"
    case manyAccounts = "many_accounts"
    case smallPurchases = "small_purchases"
    case sharedToken = "shared_token"
}

extension PendingDecision {
    /// The submission's device; nil if the submission names none.
    public var device: RiskFacts.Device? {
        submission.deviceID.map { RiskFacts.Device(bundleID: submission.bundleID, id: $0) }
    }

    var playerOfApp: RiskFacts.PlayerOfApp {
        RiskFacts.PlayerOfApp(bundleID: submission.bundleID, player: submission.playerID)
    }

    public func playerDay(of purchase: StorePurchase) -> RiskFacts.PlayerDay {
        RiskFacts.PlayerDay(
            bundleID: submission.bundleID, player: submission.playerID, day: purchase.purchasedAt.daysSinceEpoch)
    }

    /// Returns the risk signals on a purchase.
    /// - Parameter purchase: a purchase with a grant or a hold in `view`.
    func signals(on purchase: StorePurchase, in view: LedgerView) -> [RiskSignal] {
        guard let risk else { return [] }
        var signals: [RiskSignal] = []
        if let device, let players = view.risk.playersOfDevice[device], players.count >= risk.sharedDevicePlayers {
            signals.append(.sharedDevice)
        }
        if accounts(with: purchase, in: view) >= risk.manyAccounts { signals.append(.manyAccounts) }
        if view.risk.purchasesOfDay[playerDay(of: purchase), default: 0] >= risk.smallPurchasesPerDay {
            signals.append(.smallPurchases)
        }
        if isTokenOfAnother(purchase, in: view) { signals.append(.sharedToken) }
        return signals
    }

    /// Returns the number of Apple accounts that bought for the player. The account of `purchase` counts even while the
    /// purchase is held and `view` lacks the account.
    private func accounts(with purchase: StorePurchase, in view: LedgerView) -> Int {
        let known = view.risk.accountsOfPlayer[playerOfApp] ?? []
        let isNew = purchase.appTransactionID.map { !known.contains($0) } ?? false
        return known.count + (isNew ? 1 : 0)
    }
}
