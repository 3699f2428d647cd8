import NamesAndTimes

/// The rows that decide a settlement: read under the claims' locks, and changed as the batch goes on.
public struct LedgerView: Sendable {
    public struct Claim: Sendable, Equatable {
        /// The owner; nil after a refused hold has freed the claim.
        public var player: PlayerID?
        /// The non-consumable that is granted under the claim and not revoked; nil if there is none. For a period's
        /// claim: the transaction that is held or granted by it, even if revoked since.
        public var grantedTransaction: StoreTransactionID?
        /// The transaction that was published as granted to the player and that the ledger lacks, because the database
        /// lost it; nil if there is none.
        public var lostTransaction: StoreTransactionID?
        /// The time at which an operator alone revoked the non-consumable that was granted under it; nil if nobody did.
        public var operatorRevokedAt: Timestamp?

        /// Returns whether the transaction is granted under the claim, or was published as granted under it.
        public func names(_ transaction: StoreTransactionID) -> Bool {
            [grantedTransaction, lostTransaction].contains(transaction)
        }

        public init(player: PlayerID?, grantedTransaction: StoreTransactionID? = nil) {
            self.player = player
            self.grantedTransaction = grantedTransaction
        }
    }

    public struct Grant: Sendable, Equatable {
        public var player: PlayerID
        /// The submission that won it; nil for a grant of an earlier system.
        public var submission: NameBasedUUID?
        /// True if nothing of it is left.
        public var isRevoked: Bool
        /// The time of the revocation if it is an operator's alone; nil otherwise.
        public var operatorRevokedAt: Timestamp?
        public var event: [UInt8]?
        /// True if the winning submission had the transaction's token.
        public var isBound: Bool

        public init(
            player: PlayerID, submission: NameBasedUUID?, isRevoked: Bool, event: [UInt8]?, isBound: Bool = false
        ) {
            self.player = player
            self.submission = submission
            self.isRevoked = isRevoked
            self.event = event
            self.isBound = isBound
        }
    }

    public struct Hold: Sendable, Equatable {
        public var reason: Reason
        /// True if the held submission had the transaction's token.
        public var isBound: Bool

        public init(reason: Reason, isBound: Bool = false) {
            self.reason = reason
            self.isBound = isBound
        }

        /// False for a dispute, which leaves the purchase free for its owner.
        public var claims: Bool { reason != .ownershipDisputed }
    }

    /// A transaction that a submission won, with its event.
    public struct WonTransaction: Sendable, Equatable {
        public let transactionID: StoreTransactionID
        public let productID: ProductID
        public let event: OutcomeEvent

        public init(transactionID: StoreTransactionID, productID: ProductID, event: OutcomeEvent) {
            self.transactionID = transactionID
            self.productID = productID
            self.event = event
        }
    }

    /// The claims by original transaction, and by period (`PeriodIdentity`).
    public var claims: [StoreTransactionID: Claim]
    /// The apps with a grant or a hold under a claim, for claims that other subscriptions continue.
    public var claimApps: [StoreTransactionID: Set<StoreApp>] = [:]
    public var grants: [StoreTransactionID: Grant]
    /// The transactions that grant periods of subscriptions, each with its purchase time.
    public var periods: [GrantedPeriod: [StoreTransactionID: Timestamp]] = [:]
    /// The players who wait for each transaction; no entry is empty. At most one of them claims it. Of players outside
    /// the batch it may have only that one and one more.
    public var holds: [StoreTransactionID: [PlayerID: Hold]]
    /// The players to whom an operator refused a transaction. A refusal outlives the hold, and other players' holds.
    public var refusals: [StoreTransactionID: Set<PlayerID>]
    /// The transactions, in purchase order, that this batch's wholly refused submissions won before; nil if the batch
    /// has none of these.
    public var won: [NameBasedUUID: [WonTransaction]]?
    public var refunds = KnownRefunds()
    /// Revisions are above this number: a lost state of the database may have published up to it. 0 if no state was
    /// lost.
    public var revisionFloor: Int32 = 0
    /// The number of transactions granted and not wholly revoked, for each product with a limit. It is complete for all
    /// that the decisions may grant.
    public var dailyCounts: [DailyCount: Int]
    public var risk = RiskFacts()
    /// The known facts about the tokens that the decisions mention.
    public var tokens: [AccountTokenKey: AccountTokenFacts] = [:]

    public init(
        claims: [StoreTransactionID: Claim] = [:], grants: [StoreTransactionID: Grant] = [:],
        holds: [StoreTransactionID: [PlayerID: Hold]] = [:], refusals: [StoreTransactionID: Set<PlayerID>] = [:],
        dailyCounts: [DailyCount: Int] = [:]
    ) {
        self.claims = claims
        self.grants = grants
        self.holds = holds
        self.refusals = refusals
        self.dailyCounts = dailyCounts
    }

    /// Returns the claim of its original transaction. If that has no owner, it returns the claim of the subscription
    /// that this one continues in the same app and environment; that owner may have been erased.
    /// - Parameter isReleased: true if an operator has ended a dispute about it. Then only its own claim counts.
    func claim(of purchase: StorePurchase, in app: StoreApp, isReleased: Bool) -> Claim? {
        let own = claims[purchase.originalTransactionID]
        guard !isReleased, own?.player == nil, let previous = purchase.previousOriginalTransactionID,
            claimApps[previous]?.contains(app) == true, let owner = claims[previous]?.player, !owner.isPseudonym
        else { return own }
        return Claim(player: owner)
    }

    /// Returns the hold that keeps a transaction from all other players; nil if none does.
    func claimingHold(of transaction: StoreTransactionID) -> (player: PlayerID, hold: Hold)? {
        holds[transaction]?.first { $0.value.claims }.map { (player: $0.key, hold: $0.value) }
    }

    /// Ends one player's wait for the transaction.
    public mutating func endHold(of transaction: StoreTransactionID, _ player: PlayerID) {
        holds[transaction]?[player] = nil
        if holds[transaction]?.isEmpty == true { holds[transaction] = nil }
    }

    /// Frees the claim of a wholly revoked non-consumable, which may be bought again. A period's claim stays: it is
    /// paid once.
    public mutating func freeRevoked(_ original: StoreTransactionID) {
        guard !PeriodIdentity.isPeriod(original), let granted = claims[original]?.grantedTransaction else { return }
        let grant = grants[granted]
        guard grant?.isRevoked ?? true else { return }
        claims[original]?.grantedTransaction = nil
        if grant == nil { claims[original]?.lostTransaction = granted }
        claims[original]?.operatorRevokedAt = grant?.operatorRevokedAt
    }
}
