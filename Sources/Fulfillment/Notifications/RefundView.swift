import NamesAndTimes

/// The rows that refunds are settled by: read under the claims' locks, and changed as the batch goes on.
public struct RefundView: Sendable {
    /// Apple's refunds, by transaction. Those of one period say the same.
    public var states: [RefundKey: RefundState]
    /// The signing times of notifications about refunds and reversals, but for reversals that changed nothing.
    public var told: [RefundKey: ToldRefunds] = [:]
    /// Notifications that were taken before.
    public var taken: Set<Identifier>
    public var grants: [StoreTransactionID: GrantedPurchase]
    /// The granted non-consumable by original transaction, under whatever id; by period the transaction that has it.
    public var grantedUnder: [StoreTransactionID: StoreTransactionID]
    /// A state of the database that is lost may have taken notifications that were signed by then. Nil: none is lost.
    public var lostBefore: Timestamp?
    /// The revision up to which a lost state of the database may have published; 0 if no state was lost.
    public var revisionFloor: Int32 = 0

    public init(
        states: [RefundKey: RefundState] = [:], taken: Set<Identifier> = [],
        grants: [StoreTransactionID: GrantedPurchase] = [:],
        grantedUnder: [StoreTransactionID: StoreTransactionID] = [:]
    ) {
        self.states = states
        self.taken = taken
        self.grants = grants
        self.grantedUnder = grantedUnder
    }
}

/// Apple's last word about a refunded transaction, part by part.
public struct RefundState: Sendable, Equatable {
    /// The signing time of the newest notice that counted.
    public var signedAt: Timestamp
    /// The refunded parts, the larger totals later: the last is in force. Empty once all of it was reversed.
    public private(set) var parts: [GrantRevocations.Revocation]
    /// The period of a subscription, which may have several ids.
    public var period: StoreTransactionID?

    /// - Parameter parts: the larger totals later.
    public init(signedAt: Timestamp, parts: [GrantRevocations.Revocation] = [], period: StoreTransactionID? = nil) {
        self.signedAt = signedAt
        self.parts = parts
        self.period = period
    }

    /// Nil once all of it was reversed.
    public var revocation: GrantRevocations.Revocation? { parts.last }
    public var revokedAt: Timestamp? { revocation?.at }
    public var reason: Reason? { revocation?.reason }

    /// Adds the refunded total of that time. One that tells the same total again only dates it anew.
    mutating func add(_ part: GrantRevocations.Revocation) {
        parts.removeAll { $0.milliPercent == part.milliPercent }
        let place = parts.firstIndex { $0.milliPercent > part.milliPercent } ?? parts.endIndex
        parts.insert(part, at: place)
    }

    /// One refund is reversed: the last. Where that was of the whole, or Apple does not tell what stays, nothing of it
    /// stays but the parts before.
    /// - Parameter left: what Apple shows beside the reversal. What was in force before it is what was reversed.
    mutating func reverse(leaving left: GrantRevocations.Revocation?) {
        guard let last = parts.popLast() else { return }
        if let left, left.milliPercent < last.milliPercent {
            parts.removeAll { $0.milliPercent >= left.milliPercent }
            parts.append(left)
        } else if last.milliPercent == GrantRevocations.whole {
            // The whole took the place of the parts before it.
            parts = []
        }
    }
}

/// The signing times of notifications about a transaction's refunds.
public struct ToldRefunds: Sendable, Equatable {
    public var refunds: [Timestamp]
    public var reversals: [Timestamp]

    public init(refunds: [Timestamp] = [], reversals: [Timestamp] = []) {
        self.refunds = refunds
        self.reversals = reversals
    }

    /// Whether each reversal is known to be of a refund that was told of before it.
    func isEveryReversalMatched(by reversal: Timestamp) -> Bool {
        refunds.count { $0 <= reversal } >= reversals.count
    }

    static func + (one: ToldRefunds, other: ToldRefunds) -> ToldRefunds {
        ToldRefunds(refunds: one.refunds + other.refunds, reversals: one.reversals + other.reversals)
    }
}
