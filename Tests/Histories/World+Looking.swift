import HistoryModel
import Kafka
import Postgres

/// What can be seen of the worker from outside.
extension World {
    /// Records of both inbound topics that no worker has committed; nil where the broker does not say.
    func lag() async -> Int64? {
        let (submissions, notifications, prefix, properties) = (submissions, notifications, prefix, properties)
        return try? await blocking {
            var lag: Int64 = 0
            for (topic, group) in [
                (submissions, prefix + "receiptd"), (notifications, prefix + "receiptd-notifications"),
            ] {
                var own = properties
                own["group.id"] = group
                let consumer = try KafkaConsumer(properties: own, log: { _ in })
                defer { consumer.close() }
                let all = (0..<Self.partitions).map { TopicPartition(topic: topic, partition: $0) }
                let committed = try consumer.committed(all, timeoutMilliseconds: 3000)
                for partition in all {
                    let marks = try consumer.watermarks(partition, timeoutMilliseconds: 3000)
                    lag += marks.high - max(0, committed[partition] ?? 0)
                }
            }
            return lag
        }
    }

    /// What the database still has to do, empty where nothing; nil where it cannot be asked.
    func owed() async -> String? {
        try? await ground.withPool(databaseURL) { pool in
            try await pool.run { session in
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
                        ) AS owed
                        """))
                return rows.text(0, 0) ?? ""
            }
        }
    }

    /// What `subscriptions` says: by original transaction id.
    func subscriptions() async throws -> [String: SubscriptionFact] {
        try await ground.withPool(databaseURL) { pool in
            try await pool.run { session in
                let rows = try session.execute(
                    PostgresStatement(
                        "SELECT original_transaction_id, state, product_id, will_renew FROM subscriptions"))
                var found: [String: SubscriptionFact] = [:]
                for row in 0..<rows.count {
                    found[rows.text(row, 0) ?? ""] = SubscriptionFact(
                        state: rows.text(row, 1) ?? "", product: rows.text(row, 2) ?? "", willRenew: rows.bool(row, 3))
                }
                return found
            }
        }
    }

    /// As if the times had passed for which something waits, and the leases of what was killed.
    func hurry() async {
        _ = try? await ground.query(
            databaseURL,
            "UPDATE notification_history SET leased_until = '-infinity' WHERE leased_until > now() RETURNING 1::int8")
        for table in ["parked", "holds", "announced_purchases", "subscriptions"] {
            _ = try? await ground.query(
                databaseURL, "UPDATE \(table) SET leased_until = NULL WHERE leased_until > now() RETURNING 1::int8")
        }
        _ = try? await ground.query(
            databaseURL, "UPDATE outbox SET leased_until = NULL WHERE leased_until > now() RETURNING 1::int8")
        _ = try? await ground.query(
            databaseURL, "UPDATE parked SET due_at = now() WHERE due_at > now() RETURNING 1::int8")
    }

    func grants() async throws -> [String: GrantRow] {
        try await ground.withPool(databaseURL) { pool in
            try await pool.run { session in
                let rows = try session.execute(
                    PostgresStatement(
                        "SELECT transaction_id, player_id, product_id, quantity::int8, revoked_at IS NULL FROM grants"
                    ))
                var found: [String: GrantRow] = [:]
                for row in 0..<rows.count {
                    found[rows.text(row, 0) ?? ""] = GrantRow(
                        player: rows.text(row, 1) ?? "", product: rows.text(row, 2) ?? "",
                        quantity: Int(rows.int8(row, 3) ?? 0), isInForce: rows.bool(row, 4) ?? false)
                }
                return found
            }
        }
    }
}
