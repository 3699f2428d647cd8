import Fulfillment
import Postgres

/// The rows of a batch's purchases, each kind in its table's key order.
struct PurchaseRows {
    let grants: [GrantRow]
    /// Deliveries of transactions that were granted before. Workers must report these deliveries to Apple.
    let finishes: [FinishRow]
    let holds: [HoldRow]
    /// The holds that end because their transaction is granted.
    let endedHolds: [(transaction: StoreTransactionID, player: PlayerID)]

    /// - Parameters:
    ///   - settlements: in the order of `decisions`.
    ///   - newClaims: original transactions whose claim this SQL transaction inserted.
    init(_ decisions: [PendingDecision], _ settlements: [Settlement], newClaims: Set<StoreTransactionID>) {
        // Sorts indices, because moving a row would copy everything that it refers to.
        var grants: [(decision: Int, grant: Int)] = []
        var holds: [HoldRow] = []
        var finishes: [FinishRow] = []
        var ended: [(transaction: StoreTransactionID, player: PlayerID)] = []
        for (index, decision) in decisions.enumerated() {
            grants += settlements[index].grants.indices.lazy.map { (index, $0) }
            for finish in settlements[index].finishes { finishes.append(FinishRow(finish, of: decision)) }
            for transaction in settlements[index].endedHolds {
                ended.append((transaction, decision.submission.playerID))
            }
            for hold in settlements[index].holds { holds.append(HoldRow(hold: hold, decision: decision)) }
        }
        grants.sort {
            settlements[$0.decision].grants[$0.grant].purchase.transactionID
                < settlements[$1.decision].grants[$1.grant].purchase.transactionID
        }
        holds.sort {
            ($0.hold.purchase.transactionID, $0.decision.submission.playerID)
                < ($1.hold.purchase.transactionID, $1.decision.submission.playerID)
        }
        self.grants = grants.map { place in
            let grant = settlements[place.decision].grants[place.grant]
            return GrantRow(
                grant: grant, decision: decisions[place.decision],
                hasNewClaim: newClaims.contains(grant.purchase.originalTransactionID))
        }
        self.finishes = finishes
        self.holds = holds
        endedHolds = ended.sorted { $0 < $1 }
    }

    /// True if the purchases are only granted, and no grant is revoked at once.
    var areWholeGrants: Bool {
        !grants.isEmpty && holds.isEmpty && endedHolds.isEmpty && grants.allSatisfy { $0.grant.revocation == nil }
    }

    /// Inserts the rows. The claims of all purchases must be inserted or locked before.
    func insert(in session: PostgresSession) throws {
        guard try InsertGrants.run(grants, others: finishes, in: session) == grants.count,
            try InsertHolds.run(holds, in: session) == holds.count
        else { throw DecisionBatchWrite.Undone.unknownGrant }
        for hold in endedHolds { try EndHold.run(hold.transaction, of: hold.player, in: session) }
        try RevokeGrants.run(grants.compactMap(\.grant.revocation?.grant), in: session)
    }
}
