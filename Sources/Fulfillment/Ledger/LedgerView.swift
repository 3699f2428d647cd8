import NamesAndTimes

/// A copy of the ledger's rows that decide a settlement. The worker reads the rows after it has locked the claims'
/// rows. Each settlement of the batch changes the copy.
public struct LedgerView: Sendable {
    public struct Claim: Sendable, Equatable {
        /// The owner; nil if the claim has none, for example after an operator refused a hold.
        public var player: PlayerID?
        /// The non-consumable that is granted under the claim and not revoked; nil if there is none. In a period's
        /// claim, this is the transaction with the period's grant or hold, even if the grant has been revoked since.
        public var grantedTransaction: StoreTransactionID?
        /// The transaction of the player's lost grant, which a worker published and the database then lost; nil if
        /// there is none.
        public var lostTransaction: StoreTransactionID?
        /// The time at which an operator revoked the non-consumable that was granted under the claim; nil if no
        /// operator revoked it, or if Apple revoked the whole grant too.
        public var operatorRevokedAt: Timestamp?

        /// Returns whether the transaction is the claim's granted or lost transaction.
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
        /// The submission that got the grant; nil for a grant of an earlier system.
        public var submission: NameBasedUUID?
        /// True if every unit of the grant is revoked.
        public var isRevoked: Bool
        /// The time at which an operator revoked the grant; nil if no operator revoked it, or if Apple revoked the
        /// whole grant too.
        public var operatorRevokedAt: Timestamp?
        public var event: [UInt8]?
        /// True if the submission that got the grant had the transaction's account token.
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
        /// True if the held submission had the transaction's account token.
        public var isBound: Bool

        public init(reason: Reason, isBound: Bool = false) {
            self.reason = reason
            self.isBound = isBound
        }

        /// False for a dispute, which leaves the purchase free for its owner.
        public var claims: Bool { reason != .ownershipDisputed }
    }

    /// A transaction that was granted to a submission, with the grant's event.
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

    /// The claims by original transaction and by period (`PeriodIdentity`). A restored copy whose grant may be lost
    /// also has a claim under its own id.
    public var claims: [StoreTransactionID: Claim]
    /// The apps with a grant or a hold under each claim. The ledger looks these apps up only for a subscription that
    /// another subscription continues.
    public var claimApps: [StoreTransactionID: Set<StoreApp>] = [:]
    public var grants: [StoreTransactionID: Grant]
    /// The transactions that grant each period of a subscription, with their purchase times.
    public var periods: [GrantedPeriod: [StoreTransactionID: Timestamp]] = [:]
    /// The holds of each transaction, by player; no entry is empty. At most one hold claims the transaction. Of the
    /// holds of players outside the batch, the view has the claiming hold and one more, if they exist; it may lack the
    /// rest.
    public var holds: [StoreTransactionID: [PlayerID: Hold]]
    /// The players to whom an operator refused a transaction. A refusal stays after the player's hold has ended.
    public var refusals: [StoreTransactionID: Set<PlayerID>]
    /// The transactions that were granted to each submission, in purchase order. The worker reads these transactions
    /// only if this batch rejects a submission as a whole; otherwise nil.
    public var won: [NameBasedUUID: [WonTransaction]]?
    public var refunds = KnownRefunds()
    /// The highest revision that workers may have published from a state that the database lost. A new revision must be
    /// higher. 0 if the database lost no state, or if Apple never refunded a purchase of the batch.
    public var revisionFloor: Int32 = 0
    /// The number of granted transactions, without wholly revoked ones, for each daily count that the batch may need.
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

    /// Returns the claim of the purchase's original transaction. If that claim has no owner, returns a claim with the
    /// owner of the subscription that the purchase's subscription continues. The earlier subscription must be of the
    /// purchase's app and environment, and its owner must not be erased.
    /// - Parameter isReleased: true if an operator has ended a dispute about the purchase. Then only the original
    ///   transaction's own claim counts.
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

    /// Removes one player's hold of the transaction.
    public mutating func endHold(of transaction: StoreTransactionID, _ player: PlayerID) {
        holds[transaction]?[player] = nil
        if holds[transaction]?.isEmpty == true { holds[transaction] = nil }
    }

    /// Frees the claim of a wholly revoked non-consumable, because the player may buy the product again. If the ledger
    /// lacks the grant, the granted transaction becomes the claim's lost transaction. Leaves a period's claim
    /// unchanged, because a player pays for a period only once.
    public mutating func freeRevoked(_ original: StoreTransactionID) {
        guard !PeriodIdentity.isPeriod(original), let granted = claims[original]?.grantedTransaction else { return }
        let grant = grants[granted]
        guard grant?.isRevoked ?? true else { return }
        claims[original]?.grantedTransaction = nil
        if grant == nil { claims[original]?.lostTransaction = granted }
        claims[original]?.operatorRevokedAt = grant?.operatorRevokedAt
    }
}
