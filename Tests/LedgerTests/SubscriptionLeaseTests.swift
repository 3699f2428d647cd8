import Fulfillment
import Ledger
import Postgres
import Testing

@Suite("Workers' leases of subscriptions")
struct SubscriptionLeaseTests {
    private typealias Subject = FollowedSubscriptionsConformance.Subject

    private func with(_ body: (LedgerDatabase, Subject) async throws -> Void) async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let subject = Subject(database, ledger)
        _ = try await subject.grant("1000", original: "1000", at: -60, offset: 1)
        try await body(database, subject)
        await ledger.close()
    }

    /// Leases the subscription again, after its lease expired as if the last worker had died.
    private func leaseAgain(_ database: LedgerDatabase, _ subject: Subject) async throws -> LeasedSubscription {
        try await database.run("UPDATE subscriptions SET leased_until = now() - interval '1 second'")
        return try #require(try await subject.lease().first)
    }

    private func seconds(_ database: LedgerDatabase) async throws -> Int {
        try await database.number("SELECT ceil(extract(epoch FROM leased_until - now()))::int8 FROM subscriptions")
    }

    @Test("after each worker's death the next lease of a subscription is twice as long, up to eight and a half hours")
    func growing() async throws {
        try await with { database, subject in
            for take in 0..<11 {
                _ = try await leaseAgain(database, subject)
                let whole = 120 << min(take, 8)
                #expect((whole - 20...whole).contains(try await seconds(database)), "take \(take)")
                #expect(try await subject.lease().isEmpty, "it is nobody else's meanwhile")
            }
            // No lease is nine hours long. A lease that ends in nine hours was therefore given while the clock was
            // ahead.
            try await database.run("UPDATE subscriptions SET leased_until = now() + interval '9 hours'")
            #expect(try await subject.lease().count == 1)
        }
    }

    @Test("if a worker ends its lease of a subscription, the next lease is not longer")
    func inOrder() async throws {
        try await with { database, subject in
            _ = try await leaseAgain(database, subject)
            let second = try await leaseAgain(database, subject)
            try await subject.subscriptions.endLease(of: second)
            let third = try #require(try await subject.lease().first)
            #expect((220...240).contains(try await seconds(database)), "as if the second had never been taken")
            try await subject.subscriptions.reschedule(third, dueAfterSeconds: 0)
            let fourth = try #require(try await subject.lease().first)
            #expect((100...120).contains(try await seconds(database)))
            _ = try await subject.settle(
                fourth, [FollowedSubscriptionsConformance.fact(.billingRetry, period: -60, at: -29)], at: 40)
            #expect(try await database.number("SELECT takes::int8 FROM subscriptions") == 0)
        }
    }

    @Test("if PostgreSQL refuses Apple's answer about a subscription, the next check is a day later")
    func refused() async throws {
        try await with { database, subject in
            try await database.run(
                "ALTER TABLE subscriptions ADD CONSTRAINT none_expires CHECK (state <> 'expired')")
            let leased = try #require(try await subject.lease().first)
            let error = await #expect(throws: PostgresError.self) {
                _ = try await subject.settle(
                    leased, [FollowedSubscriptionsConformance.fact(.expired, period: -60, at: 40)], at: 40)
            }
            #expect(error?.constraint == "none_expires")
            let putOff = """
                SELECT count(*) FROM subscriptions
                WHERE leased_until IS NULL AND due_at BETWEEN now() + interval '23 hours' AND now() + interval '1 day'
                """
            #expect(try await database.number(putOff) == 1)
        }
    }
}
