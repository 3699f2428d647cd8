import AppStoreSimulation
import HistoryModel
import Kafka
import Postgres

extension World {
    /// Returns the number of records of both inbound topics after the committed offsets; nil if the broker does not
    /// answer.
    func lag() async -> Int64? { await lagReader.look()?.lag }

    /// Returns the committed offsets of the submissions topic by partition; nil if the broker does not answer.
    func committed() async -> [Int32: Int64]? {
        guard let look = await lagReader.look() else { return nil }
        let own = look.committed.filter { $0.key.topic == submissions }
        return Dictionary(own.map { ($0.key.partition, $0.value) }) { first, _ in first }
    }

    /// Returns the positions of submissions that the database has as decided or parked; nil if the database does not
    /// answer.
    func storedPlaces() async -> Set<Place>? {
        try? await looking.run { [submissions] session in
            let rows = try session.execute(
                PostgresStatement(
                    """
                    SELECT source_partition::int8, source_offset FROM outcomes WHERE source_topic = $1
                    UNION SELECT source_partition, source_offset FROM parked WHERE source_topic = $1
                    """), [.text(submissions)])
            return Set(
                (0..<rows.count).map { row in
                    Place(partition: Int32(rows.int8(row, 0) ?? -1), offset: rows.int8(row, 1) ?? -1)
                })
        }
    }

    /// Returns a text that names the work left in the database. The text is empty if no work is left, and nil if the
    /// database does not answer.
    func owed() async -> String? {
        try? await looking.run { session in
            let rows = try session.execute(
                PostgresStatement(
                    """
                    SELECT string_agg(what, ', ') FROM (
                        SELECT 'event of ' || coalesce(transaction_id, event_id::text) AS what FROM outbox
                        UNION ALL SELECT 'parked ' || submission_id || ' ' || reason FROM parked
                        UNION ALL SELECT 'told ' || transaction_id FROM announced_purchases WHERE state = 'waiting'
                        UNION ALL SELECT 'hold of ' || transaction_id FROM holds WHERE due_at IS NOT NULL
                        UNION ALL SELECT 'subscription ' || original_transaction_id FROM subscriptions
                            WHERE due_at <= now() + interval '1 s'
                        UNION ALL SELECT 'finish of ' || transaction_id FROM finishes WHERE due_at IS NOT NULL
                        UNION ALL SELECT 'refund request of ' || transaction_id FROM refund_requests
                            WHERE due_at IS NOT NULL AND player_id IS NOT NULL
                    ) AS owed
                    """))
            return rows.text(0, 0) ?? ""
        }
    }

    /// Returns true if the ledger has the account token that the record at `place` of its topic assigned.
    func hasAccount(from place: Place) async throws -> Bool {
        try await looking.run { session in
            let statement = PostgresStatement(
                "SELECT count(*) FROM player_accounts WHERE source_partition = $1 AND source_offset = $2")
            return try session.execute(statement, [.int4(place.partition), .int8(place.offset)]).int8(0, 0) == 1
        }
    }

    func subscriptions() async throws -> [String: SubscriptionFact] {
        try await looking.run { session in
            let rows = try session.execute(
                PostgresStatement(
                    "SELECT original_transaction_id, state, product_id, will_renew, renewal_product_id FROM subscriptions"
                ))
            var found: [String: SubscriptionFact] = [:]
            for row in 0..<rows.count {
                found[rows.text(row, 0) ?? ""] = SubscriptionFact(
                    state: rows.text(row, 1) ?? "", product: rows.text(row, 2) ?? "", willRenew: rows.bool(row, 3),
                    renewalProduct: rows.text(row, 4))
            }
            return found
        }
    }

    /// Returns the notification histories that no worker has read up to `time`, empty if there are none. Returns nil if
    /// the database does not answer.
    /// - Parameter time: milliseconds since 1970.
    func unreadHistories(before time: Int64) async -> String? {
        let asked = Scenery.apps.count { $0.hasServerAPI }
        return try? await looking.run { session in
            let rows = try session.execute(
                PostgresStatement(
                    """
                    SELECT string_agg('history of ' || bundle_id || ' since ' || coalesce(taken_until::text, 'ever'), ', ')
                            FILTER (WHERE taken_until IS NULL OR taken_until < to_timestamp($1::float8 / 1000)
                                OR page_token IS NOT NULL),
                        count(*) FILTER (WHERE environment = 'Production')
                    FROM notification_history
                    """), [.float8(Double(time))])
            let all = Int(rows.int8(0, 1) ?? 0)
            return rows.text(0, 0) ?? (all < asked ? "\(asked - all) histories" : "")
        }
    }

    /// Makes parked submissions, finishes and refund requests due. Ends all leases, because the leases of killed
    /// workers would last for minutes.
    /// - Parameter endsRounds: true to end also the leases on notification histories. A running worker that loses such
    ///   a lease begins its round again.
    func hurry(endsRounds: Bool) async {
        let leased = ["parked", "holds", "announced_purchases", "subscriptions", "outbox"].map {
            "UPDATE \($0) SET leased_until = now() - interval '1 s' WHERE leased_until > now()"
        }
        let rounds = ["UPDATE notification_history SET leased_until = '-infinity' WHERE leased_until > now()"]
        let due = ["parked", "finishes", "refund_requests"].map {
            "UPDATE \($0) SET due_at = now() WHERE due_at > now()"
        }
        for statement in leased + (endsRounds ? rounds : []) + due {
            try? await looking.run { try $0.run(script: statement) }
        }
    }

    /// Returns a number that grows with each decision; nil if the database does not answer.
    func decisions() async -> Int64? {
        try? await looking.run { session in
            let rows = try session.execute(
                PostgresStatement(
                    """
                    SELECT (SELECT count(*) FROM outcomes) + (SELECT coalesce(sum(revision), 0) FROM grants)
                        + (SELECT coalesce(sum(revision), 0) FROM subscriptions)
                    """))
            return rows.int8(0, 0)
        }
    }

    /// Sets the time in the ledger from which workers grant missed purchases.
    /// - Parameter time: milliseconds since 1970.
    func grantMissed(since time: Int64) async throws {
        try await looking.run { session in
            _ = try session.execute(
                PostgresStatement("UPDATE missed_purchase_grants SET since = to_timestamp($1::float8 / 1000)"),
                [.float8(Double(time))])
        }
    }

    func isAnyLeased() async -> Bool {
        let leased = ["parked", "holds", "announced_purchases", "subscriptions"].map {
            "EXISTS (SELECT FROM \($0) WHERE leased_until > now())"
        }
        return
            (try? await looking.run { session in
                let rows = try session.execute(PostgresStatement("SELECT \(leased.joined(separator: " OR "))"))
                return rows.bool(0, 0) ?? false
            }) ?? false
    }

    /// Returns the finished transactions and the answers to refund requests that Apple got.
    func reported() -> (finished: Set<String>, answers: [String: [ConsumptionAnswer]]) {
        apple.inStore { store in
            (
                Set(store.transactions.values.filter(\.isFinished).map(\.id)),
                store.consumption.mapValues { reports in
                    reports.map {
                        ConsumptionAnswer(
                            isDelivered: $0.deliveryStatus == "DELIVERED", percentage: $0.consumptionPercentage)
                    }
                }
            )
        }
    }

    func grants() async throws -> [String: GrantRow] {
        try await looking.run { session in
            let rows = try session.execute(
                PostgresStatement(
                    """
                    SELECT transaction_id, player_id, product_id, quantity::int8, revoked_at IS NULL,
                        coalesce(revoked_units, 0)::int8
                    FROM grants
                    """))
            var found: [String: GrantRow] = [:]
            for row in 0..<rows.count {
                found[rows.text(row, 0) ?? ""] = GrantRow(
                    player: rows.text(row, 1) ?? "", product: rows.text(row, 2) ?? "",
                    quantity: Int(rows.int8(row, 3) ?? 0), isInForce: rows.bool(row, 4) ?? false,
                    revokedUnits: rows.int8(row, 5).map { Int($0) })
            }
            return found
        }
    }
}
