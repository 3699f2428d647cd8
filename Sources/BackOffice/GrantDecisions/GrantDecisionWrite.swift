import Fulfillment
import Ledger
import NamesAndTimes
import Postgres

/// Stores an operator's decision about one grant, in one SQL transaction. Like a refund, it locks the claims before the
/// grant. The grant's state follows from Apple's refund and the operator's revocation together.
struct GrantDecisionWrite: Sendable {
    /// The source topic in the outbox for these events. No topic has this name, so the events wait for no partition's
    /// owner, and any replica publishes them.
    private static let source = "receiptd-grants"

    private static let findingOther = LedgerSQL.statement(PackageResources.find_grant_in_force_sql)
    private static let remembering = LedgerSQL.statement(PackageResources.insert_grant_decision_sql)

    let decision: GrantDecision
    let catalog: Catalog

    func run(in session: PostgresSession) throws -> GrantDecision.Ending {
        try session.transaction { session in
            try lockClaims(in: session)
            guard var grant = try LockGrants.one(decision.transactionID, in: session) else { return .notGranted }
            let before = grant.revocations
            let change: GrantRevocations.Change? =
                switch decision.word {
                case .revoke: grant.revocations.revoke(byOperatorAt: decision.decidedAt)
                case .reinstate: grant.revocations.reinstateByOperator()
                }
            guard grant.revocations != before else { return .unchanged }
            if decision.word == .reinstate, let other = try findOther(in: session) { return .inForce(other) }
            let event = change.flatMap { grant.tell($0, at: decision.decidedAt, catalog: catalog) }
            try RevokeGrants.run([grant], in: session)
            try session.execute(
                Self.remembering,
                [
                    .text(decision.transactionID.text), .text(decision.word.rawValue), .text(decision.operatorName),
                    .text(decision.note),
                ])
            guard let event else { return .remembered }
            try InsertOutboxEvent.run(event, topic: Self.source, partition: 0, traceparent: nil, in: session)
            try HandOverEvents.run([event.eventID], in: session)
            return .published(event)
        }
    }

    private func lockClaims(in session: PostgresSession) throws {
        let originals = try FindOriginals.run([decision.transactionID], in: session)
        _ = try LockClaims.run(originals.sorted(), in: session)
    }

    private func findOther(in session: PostgresSession) throws -> StoreTransactionID? {
        let rows = try session.execute(Self.findingOther, [.text(decision.transactionID.text)])
        let transaction = try rows.column("transaction_id")
        return rows.count == 1 ? rows.text(0, transaction).map { Identifier($0) } : nil
    }
}
