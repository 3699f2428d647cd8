import Postgres

/// Finds what a worker could not do in this database: a right that its role lacks, a table or column that is not there.
///
/// Each statement of a worker is prepared and planned, and run as far as the server's own check of rights, in a
/// transaction that is rolled back: no row is read or written, and nobody waits.
public enum LedgerRehearsal {
    public struct Fault: Sendable, Equatable {
        /// What the statement is for.
        public let work: String
        public let sqlState: String
        public let message: String
    }

    struct Work: Sendable {
        let name: String
        let statements: [[UInt8]]
    }

    static let worker: [Work] = [
        Work(
            name: "claim purchases",
            statements: [
                PackageResources.insert_claims_sql, PackageResources.lock_claims_sql,
                PackageResources.update_claims_sql,
                PackageResources.delete_claims_sql,
            ]),
        Work(
            name: "grant",
            statements: [
                PackageResources.find_grants_sql, PackageResources.insert_grants_sql, PackageResources.count_days_sql,
                PackageResources.lock_counts_sql, PackageResources.find_risk_sql,
                PackageResources.find_tokens_sql, PackageResources.insert_token_senders_sql,
                PackageResources.learn_tokens_sql, PackageResources.lock_tokens_sql,
            ]),
        Work(
            name: "hold",
            statements: [
                PackageResources.find_holds_sql, PackageResources.find_refunds_sql, PackageResources.insert_holds_sql,
                PackageResources.insert_held_submissions_sql,
            ]),
        Work(
            name: "record outcomes, events and proofs",
            statements: [
                PackageResources.insert_outcomes_sql, PackageResources.note_replays_sql,
            ]),
        Work(
            name: "look up what was decided before",
            statements: [
                PackageResources.recall_outcomes_sql, PackageResources.recall_parked_sql,
                PackageResources.recall_proofs_sql, PackageResources.recall_purchases_sql,
                PackageResources.decided_offsets_sql,
            ]),
        Work(
            name: "take events out of the outbox",
            statements: [
                PackageResources.take_orphans_sql, PackageResources.take_partition_sql,
                PackageResources.delete_acknowledged_sql,
            ]),
        Work(
            name: "checkpoint offsets",
            statements: [
                PackageResources.read_offset_checkpoints_sql, PackageResources.adopt_durable_offsets_sql,
                PackageResources.lock_offset_checkpoints_sql, PackageResources.write_offset_checkpoints_sql,
                PackageResources.count_departures_sql,
            ]),
        Work(
            name: "park submissions",
            statements: [
                PackageResources.park_sql, PackageResources.park_refused_sql, PackageResources.take_due_sql,
                PackageResources.lease_parked_sql, PackageResources.put_back_parked_sql,
                PackageResources.release_parked_sql, PackageResources.remove_parked_sql,
                PackageResources.delete_parked_sql, PackageResources.take_suspect_sql,
                PackageResources.find_suspects_sql,
                PackageResources.wake_parked_sql,
            ]),
        Work(
            name: "end holds",
            statements: [
                PackageResources.take_due_holds_sql, PackageResources.take_outdated_holds_sql,
                PackageResources.keep_holds_sql, PackageResources.leave_holds_sql, PackageResources.put_back_hold_sql,
                PackageResources.return_hold_sql, PackageResources.lock_hold_sql, PackageResources.delete_hold_sql,
                PackageResources.lock_held_submission_sql, PackageResources.delete_held_submission_sql,
                PackageResources.insert_hold_event_sql, PackageResources.insert_refusal_sql,
                PackageResources.free_claim_sql,
            ]),
        Work(
            name: "take refunds",
            statements: [
                PackageResources.find_originals_sql, PackageResources.find_refund_notices_sql,
                PackageResources.find_refund_states_sql, PackageResources.lock_grants_sql,
                PackageResources.enter_refunds_sql, PackageResources.revoke_grants_sql,
                PackageResources.insert_refund_events_sql,
            ]),
        Work(
            name: "follow the catalog",
            statements: [
                PackageResources.latest_catalog_version_sql, PackageResources.load_catalog_sql,
            ]),
        Work(
            name: "share the budget of requests to Apple",
            statements: [
                PackageResources.lease_budget_sql, PackageResources.hold_budget_sql, PackageResources.budget_holds_sql,
            ]),
        Work(name: "count the backlog", statements: [PackageResources.count_ledger_sql]),
    ]

    /// The first fault of each statement. Throws a `PostgresError` where the database cannot be asked.
    public static func run(in session: PostgresSession) throws -> [Fault] {
        var faults: [Fault] = []
        do {
            try session.transaction { session in
                for work in worker {
                    for statement in work.statements {
                        guard let fault = try rehearse(LedgerSQL.text(statement), in: session) else { continue }
                        let named = Fault(
                            work: work.name, sqlState: fault.sqlState ?? "", message: fault.message)
                        if !faults.contains(named) { faults.append(named) }
                    }
                }
                throw RolledBack()
            }
        } catch is RolledBack {}
        return faults
    }

    private struct RolledBack: Error {}

    /// Nil where the statement would be taken.
    private static func rehearse(_ sql: String, in session: PostgresSession) throws -> PostgresError? {
        let count = parameters(in: sql)
        let nulls = count == 0 ? "" : "(" + Array(repeating: "NULL", count: count).joined(separator: ", ") + ")"
        do {
            try session.run(
                script: """
                    SAVEPOINT rehearsal;
                    PREPARE rehearsal AS \(sql.trimmingTail);
                    EXPLAIN (COSTS OFF) EXECUTE rehearsal\(nulls);
                    DEALLOCATE rehearsal;
                    RELEASE SAVEPOINT rehearsal
                    """)
            return nil
        } catch {
            guard error.kind != .connection else { throw error }
            try session.run(script: "ROLLBACK TO SAVEPOINT rehearsal; RELEASE SAVEPOINT rehearsal")
            // Prepared statements do not follow transactions.
            try session.run(script: "SAVEPOINT rehearsal")
            do { try session.run(script: "DEALLOCATE rehearsal; RELEASE SAVEPOINT rehearsal") } catch {
                guard error.kind != .connection else { throw error }
                try session.run(script: "ROLLBACK TO SAVEPOINT rehearsal; RELEASE SAVEPOINT rehearsal")
            }
            // That null is no value for it says nothing of the database.
            return error.kind == .data ? nil : error
        }
    }

    /// The highest `$n`.
    static func parameters(in sql: String) -> Int {
        // What a comment says of parameters is no more than there are.
        sql.matches(of: /\$([0-9]+)/).compactMap { Int($0.output.1) }.max() ?? 0
    }
}

extension String {
    /// Without the semicolon and white space at the end.
    fileprivate var trimmingTail: String {
        String(reversed().drop { $0 == ";" || $0.isWhitespace }.reversed())
    }
}
