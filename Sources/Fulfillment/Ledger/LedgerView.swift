/// The rows that a settlement is decided by: read under the claims' locks, and changed as the batch goes on.
public struct LedgerView: Sendable {
    public struct Claim: Sendable, Equatable {
        /// Nil once a refused hold has freed it.
        public var player: PlayerID?
        /// The non-consumable granted under it, and not revoked since.
        public var grantedTransaction: StoreTransactionID?

        public init(player: PlayerID?, grantedTransaction: StoreTransactionID? = nil) {
            self.player = player
            self.grantedTransaction = grantedTransaction
        }
    }

    public struct Grant: Sendable, Equatable {
        public var player: PlayerID
        /// Nil for a grant that an earlier system delivered.
        public var submission: NameBasedUUID?
        public var isRevoked: Bool
        public var event: [UInt8]?

        public init(player: PlayerID, submission: NameBasedUUID?, isRevoked: Bool, event: [UInt8]?) {
            self.player = player
            self.submission = submission
            self.isRevoked = isRevoked
            self.event = event
        }
    }

    public struct Hold: Sendable, Equatable {
        public var player: PlayerID
        public var reason: Reason
        public var isRefused: Bool

        public init(player: PlayerID, reason: Reason, isRefused: Bool) {
            self.player = player
            self.reason = reason
            self.isRefused = isRefused
        }
    }

    /// By original transaction.
    public var claims: [StoreTransactionID: Claim]
    public var grants: [StoreTransactionID: Grant]
    public var holds: [StoreTransactionID: Hold]

    public init(
        claims: [StoreTransactionID: Claim] = [:], grants: [StoreTransactionID: Grant] = [:],
        holds: [StoreTransactionID: Hold] = [:]
    ) {
        self.claims = claims
        self.grants = grants
        self.holds = holds
    }
}
