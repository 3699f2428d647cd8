import NamesAndTimes

/// The rows that a settlement is decided by: read under the claims' locks, and changed as the batch goes on.
public struct LedgerView: Sendable {
    public struct Claim: Sendable, Equatable {
        /// Nil once a refused hold has freed it.
        public var player: PlayerID?
        /// The non-consumable granted under it, and not revoked since. Of a period's claim the transaction by which it is granted,
        /// revoked since or not, or held.
        public var grantedTransaction: StoreTransactionID?
        /// Published as granted to the player, and not in the ledger: the state of the database that knew it is lost.
        public var lostTransaction: StoreTransactionID?
        /// The non-consumable granted under it was taken back then, by an operator's decision only.
        public var operatorRevokedAt: Timestamp?

        /// Whether the transaction is the one that is granted under it, or was published as granted under it.
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
        /// Nil for a grant that an earlier system delivered.
        public var submission: NameBasedUUID?
        /// Nothing of it is left.
        public var isRevoked: Bool
        /// The time of the revocation, if it is an operator's decision only.
        public var operatorRevokedAt: Timestamp?
        public var event: [UInt8]?
        /// The winning submission had the transaction's token.
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
        /// The winning submission had the transaction's token.
        public var isBound: Bool

        public init(reason: Reason, isBound: Bool = false) {
            self.reason = reason
            self.isBound = isBound
        }

        /// A dispute leaves the purchase free for its owner.
        public var claims: Bool { reason != .ownershipDisputed }
    }

    /// A grant by the submission that won it.
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
    /// The apps with a grant or hold under a claim, for claims that other subscriptions continue.
    public var claimApps: [StoreTransactionID: Set<StoreApp>] = [:]
    public var grants: [StoreTransactionID: Grant]
    /// The transactions that periods of subscriptions were granted by, with when each was bought.
    public var periods: [GrantedPeriod: [StoreTransactionID: Timestamp]] = [:]
    /// One for each player who waits for the transaction, and never empty. At most one of them claims it. Of players who are in no
    /// decision of a batch it may have that one and another one only.
    public var holds: [StoreTransactionID: [PlayerID: Hold]]
    /// Players who were refused a transaction by an operator. It outlives the hold, and any other player's.
    public var refusals: [StoreTransactionID: Set<PlayerID>]
    /// The transactions that submissions refused as a whole won before, in purchase order. Nil where a batch has none
    /// of these.
    public var won: [NameBasedUUID: [WonTransaction]]?
    public var refunds = KnownRefunds()
    /// Revisions are above it: a lost state of the database may have told of those up to it. 0: none is lost.
    public var revisionFloor: Int32 = 0
    /// Granted and not wholly taken back, for each product with a limit: complete for what the decisions may grant.
    public var dailyCounts: [DailyCount: Int]
    public var risk = RiskFacts()
    /// The known ones of the tokens that the decisions mention.
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

    /// The owner of its original transaction; if that is nobody's, of the subscription that it goes on from in the same
    /// app and environment, who may have been erased since.
    /// - Parameter isReleased: an operator decided that a dispute about it is over: then only its own claim counts.
    func claim(of purchase: StorePurchase, in app: StoreApp, isReleased: Bool) -> Claim? {
        let own = claims[purchase.originalTransactionID]
        guard !isReleased, own?.player == nil, let previous = purchase.previousOriginalTransactionID,
            claimApps[previous]?.contains(app) == true, let owner = claims[previous]?.player, !owner.isPseudonym
        else { return own }
        return Claim(player: owner)
    }

    /// The hold that keeps a transaction from all other players.
    func claimingHold(of transaction: StoreTransactionID) -> (player: PlayerID, hold: Hold)? {
        holds[transaction]?.first { $0.value.claims }.map { (player: $0.key, hold: $0.value) }
    }

    /// One player's wait for it has ended.
    public mutating func endHold(of transaction: StoreTransactionID, _ player: PlayerID) {
        holds[transaction]?[player] = nil
        if holds[transaction]?.isEmpty == true { holds[transaction] = nil }
    }

    /// A non-consumable that was taken back may be bought again: no grant is under its claim any more. A period is paid once.
    public mutating func freeRevoked(_ original: StoreTransactionID) {
        guard !PeriodIdentity.isPeriod(original), let granted = claims[original]?.grantedTransaction else { return }
        let grant = grants[granted]
        guard grant?.isRevoked ?? true else { return }
        claims[original]?.grantedTransaction = nil
        if grant == nil { claims[original]?.lostTransaction = granted }
        claims[original]?.operatorRevokedAt = grant?.operatorRevokedAt
    }
}
