import Fulfillment
import NamesAndTimes
import Postgres

/// Delivers a batch of announced purchases in one SQL transaction. It locks their claims, then their rows, and reads
/// the facts about them in later statements. Then it judges each purchase, and settles and writes the deliverable
/// purchases like a batch of submissions.
struct AnnouncedDelivery: Sendable {
    static let locking = LedgerSQL.statement(PackageResources.lock_announced_purchases_sql)
    private static let finding = LedgerSQL.statement(PackageResources.find_announced_owners_sql)
    private static let publishing = LedgerSQL.statement(PackageResources.insert_announced_events_sql)

    let leased: [LeasedAnnouncement]
    let catalog: Catalog
    let now: Timestamp

    /// Judges the purchases that are still leased and unsettled, and settles the deliverable purchases. Returns the
    /// outcomes after COMMIT.
    func run(in session: PostgresSession) throws -> [AnnouncedOutcome] {
        try session.transaction { session in
            let claims = try lockClaims(in: session)
            let open = try lockRows(in: session)
            let owners = try find(open, under: claims, in: session)
            var outcomes: [AnnouncedOutcome] = []
            var delivered: [(announcement: LeasedAnnouncement, decision: PendingDecision)] = []
            for (one, ownership) in zip(open, owners) {
                let one = ownership.isReversed ? one.withoutRevocation : one
                switch one.judge(under: catalog, ownership, at: now) {
                case .deliver(let decision): delivered.append((one, decision))
                case .asks: break
                case .erased(let pseudonym):
                    outcomes.append(AnnouncedOutcome(erased: one.purchase, pseudonym))
                case .refused(let reason, let player):
                    outcomes.append(
                        AnnouncedOutcome(of: one.purchase, .refused, reason: reason.rawValue, player: player))
                case .unclaimed(let reason):
                    outcomes.append(AnnouncedOutcome(of: one.purchase, .unclaimed, reason: reason.rawValue))
                case .ignored: outcomes.append(AnnouncedOutcome(of: one.purchase, .ignored))
                }
            }
            let (settlements, subscriptions) = try settle(delivered.map(\.decision), in: session)
            let settled = zip(delivered, settlements).enumerated().map { place, one in
                var outcome = one.0.announcement.outcome(of: one.1, for: one.0.decision)
                outcome.subscriptions = subscriptions[place] ?? []
                return outcome
            }
            outcomes = withoutOwned(outcomes, by: settlements) + settled
            try publish(settled.flatMap(\.owned), in: session)
            try UpdateAnnounced.run(
                outcomes.map(UpdateAnnounced.Row.init), catalogVersion: catalog.version, in: session)
            return outcomes
        }
    }

    private func lockClaims(in session: PostgresSession) throws -> [StoreTransactionID: LedgerView.Claim] {
        var bundles: [StoreTransactionID: BundleID] = [:]
        var all: Set<StoreTransactionID> = []
        for one in leased.map(\.purchase) {
            let bundle = one.evidence.bundleID
            for claim in [one.purchase.originalTransactionID, one.period(catalog)].compactMap(\.self) {
                bundles[claim] = bundle
            }
            if let previous = one.previousOriginalTransactionID { all.insert(previous) }
        }
        let rows = bundles.map { ClaimRow(original: $0, player: nil, bundleID: $1, grantedTransaction: nil) }
            .sorted { $0.original < $1.original }
        // Inserts missing claims, without an owner. The claim of a period may be missing, because an announcement
        // inserts only the claim of the original. An older version may not have inserted that claim either.
        let fresh = try InsertClaims.run(rows, in: session)
        return try LockClaims.run(all.union(bundles.keys).subtracting(fresh).sorted(), in: session)
    }

    private func lockRows(in session: PostgresSession) throws -> [LeasedAnnouncement] {
        let rows = try session.execute(
            Self.locking,
            [
                .identifiers(leased.lazy.map(\.purchase.purchase.transactionID)),
                .timestamptzArray(unixMicroseconds: leased.map(\.lease)),
            ])
        let transaction = try rows.column("transaction_id")
        let open = Set((0..<rows.count).compactMap { rows.text($0, transaction).map { StoreTransactionID($0) } })
        return leased.filter { open.contains($0.purchase.purchase.transactionID) }
    }

    private func find(
        _ open: [LeasedAnnouncement], under claims: [StoreTransactionID: LedgerView.Claim],
        in session: PostgresSession
    ) throws -> [AnnouncedOwnership] {
        guard !open.isEmpty else { return [] }
        var owners = open.map { one in
            let id = one.purchase.purchase.transactionID
            let claim = claims[one.purchase.purchase.originalTransactionID]
            // If the period's claim names this transaction, the database lost the transaction's grant, and the period
            // still belongs to the claim's player. The subscription may belong to another player now.
            let period = one.purchase.period(catalog).flatMap { claims[$0] }.flatMap { $0.names(id) ? $0 : nil }
            var ownership = AnnouncedOwnership(owner: period?.player ?? claim?.player)
            ownership.isPublished = claim?.names(id) ?? false
            return ownership
        }
        let rows = try session.execute(
            Self.finding,
            [
                .identifiers(open.lazy.map(\.purchase.purchase.transactionID)),
                .identifiers(open.lazy.map(\.purchase.purchase.originalTransactionID)),
                .identifiers(open.lazy.map(\.purchase.evidence.bundleID)),
                .textArray(open.map(\.purchase.evidence.environment.rawValue)),
                .byteaArray(open.map { $0.purchase.tokenKey?.hash.bytes }),
            ])
        let (number, isLetIn) = (try rows.column("number"), try rows.column("is_let_in"))
        let (player, since) = (try rows.column("player_id"), try rows.column("since"))
        let (isRefunded, reversed) = (try rows.column("is_refunded"), try rows.column("reversed_at"))
        let previous = try rows.column("previous_owner")
        let isDecidedAgain = try rows.column("is_decided_again")
        for row in 0..<rows.count {
            guard let index = rows.int8(row, number).map({ Int($0) - 1 }), owners.indices.contains(index) else {
                continue
            }
            owners[index].isLetIn = rows.bool(row, isLetIn) ?? false
            // A purchase may continue another subscription. It then belongs to the owner of that subscription, who may
            // have become known after the announcement.
            owners[index].owner = owners[index].owner ?? rows.text(row, previous).map { Identifier($0) }
            owners[index].told = rows.text(row, player).map { Identifier($0) }
            owners[index].grantsSince = rows.timestamp(row, since)
            owners[index].isRefunded = rows.bool(row, isRefunded) ?? false
            let cancelledAt = open[index].purchase.purchase.cancelledAt
            owners[index].isReversed = rows.timestamp(row, reversed).map { $0 >= cancelledAt ?? $0 } ?? false
            owners[index].isDecidedAgain = rows.bool(row, isDecidedAgain) ?? false
        }
        return owners
    }

    /// Settles each decision like a submission's. Returns one settlement for each decision, and the subscriptions'
    /// events by the decision's index.
    private func settle(
        _ decisions: [PendingDecision], in session: PostgresSession
    ) throws -> (settlements: [Settlement], subscriptions: [Int: [OutcomeEvent]]) {
        guard !decisions.isEmpty else { return ([], [:]) }
        let batch = DecisionBatch(decisions)
        let write = DecisionBatchWrite(batch: batch, lookUp: .everything, acknowledged: [], writer: 0)
        let settled = try write.settle(in: session)
        return (batch.slots.map { settled.settlements[$0] }, settled.subscriptions)
    }

    /// Leaves out the outcomes of renewals whose owner became known by a grant of this batch. That grant has made these
    /// renewals due again. Keeps refusals.
    private func withoutOwned(
        _ outcomes: [AnnouncedOutcome], by settlements: [Settlement]
    ) -> [AnnouncedOutcome] {
        let owned = Set(settlements.flatMap(\.grants).map(\.purchase.originalTransactionID))
        guard !owned.isEmpty else { return outcomes }
        let renewals = Set(
            leased.lazy.map(\.purchase).filter { purchase in
                purchase.isRenewal
                    && (owned.contains(purchase.purchase.originalTransactionID)
                        || purchase.previousOriginalTransactionID.map(owned.contains) == true)
            }.map(\.purchase.transactionID))
        return outcomes.filter { !renewals.contains($0.transactionID) || $0.state == .refused }
    }

    private func publish(_ events: [OutcomeEvent], in session: PostgresSession) throws {
        guard !events.isEmpty else { return }
        try session.execute(
            Self.publishing,
            [
                .uuids(events.lazy.map(\.eventID)), .text(LeasedAnnouncement.topic),
                .identifiers(events.lazy.map(\.playerID)),
                .textArray(events.map { $0.kind == .granted ? $0.subject.text : nil }),
                .byteaArray(events.map { $0.kind == .granted ? nil : $0.value }),
            ])
    }
}
