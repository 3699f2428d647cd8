import Fulfillment
import Ledger
import NamesAndTimes
import TestSupport
import Testing

/// Tests a database that was restored to a backup from before the last event about a subscription. Only the game has
/// the lost state.
@Suite("Subscription ledgers, in memory and in PostgreSQL, that lost a published state")
struct LostSubscriptionsConformance {
    private typealias Subject = FollowedSubscriptionsConformance.Subject

    /// Runs `check` with a subscription that ends in 10 days and is not yet due. The ledger knows only its revision 1.
    /// `check` gets a function that takes a published revision, makes the subscriptions due that lack it, and returns
    /// their number.
    private func with(
        _ implementation: Implementation,
        _ check: (Subject, _ makeDue: (_ published: Int32) async throws -> Int) async throws -> Void
    ) async throws {
        func published(_ revision: Int32) -> [PublishedRevision] {
            ["1000", "1001"].map {
                PublishedRevision(.subscription, $0, revision: revision, at: Timestamp(milliseconds: 0))
            }
        }
        switch implementation {
        case .inMemory:
            let now = FollowedSubscriptionsConformance.base.adding(milliseconds: 40 * 86_400_000)
            let ledger = InMemoryLedger(clock: { now })
            let subject = Subject(
                ledger: ledger, subscriptions: ledger, holds: ledger, release: { ledger.releaseByOperator($0) })
            _ = try await subject.grant("1000", original: "1000", at: 20, offset: 1)
            try await check(subject) { try await ledger.makeDue(lacking: published($0)) }
        case .postgres:
            let database = try await LedgerDatabase()
            let ledger = database.ledger()
            let subject = Subject(database, ledger)
            _ = try await subject.grant("1000", original: "1000", at: 20, offset: 1)
            // A worker has noticed the fall-back, so the next revisions lie above all published ones.
            try await PostgresCheckpoints(pool: database.pool, group: "receiptd")
                .keepDecidedAgain([0: 1], topic: Sample.topic)
            let claims = PostgresClaims(pool: database.pool)
            try await check(subject) { try await claims.makeDue(lacking: published($0)) }
            await ledger.close()
        }
    }

    @Test(
        "if the ledger has all published revisions of a subscription, the subscription is not due",
        arguments: Implementation.allCases)
    func complete(implementation: Implementation) async throws {
        try await with(implementation) { subject, makeDue in
            let due = try await makeDue(1)
            #expect(due == 0)
            #expect(try await subject.lease().isEmpty)
        }
    }

    @Test(
        "if a revision was lost, Apple's next answer is published once, above the lost revision, even without a change",
        arguments: Implementation.allCases)
    func toldAnew(implementation: Implementation) async throws {
        try await with(implementation) { subject, makeDue in
            #expect(try await makeDue(7) == 1)
            let leased = try #require(try await subject.lease().first)
            var same = FollowedSubscriptionsConformance.fact(.active, period: 20, at: 40)
            same.willRenew = nil
            let told = try await subject.settle(leased, [same], at: 40)
            let known = try #require(try await subject.known("1000"))
            #expect(known.revision > 7 && known.state == .active)
            #expect(told.map(\.eventID) == [OutcomeEvent.subscriptionChanged(known, at: Sample.noon).eventID])
            #expect(try await subject.settle(leased, [same], at: 41).isEmpty)
        }
    }

    @Test(
        "if Apple's answer lacks the subscription, the ledger publishes the known state once, above the lost revision",
        arguments: Implementation.allCases)
    func nothingToTell(implementation: Implementation) async throws {
        try await with(implementation) { subject, makeDue in
            #expect(try await makeDue(7) == 1)
            let leased = try #require(try await subject.lease().first)
            #expect(try await subject.settle(leased, [], at: 40).map(\.kind) == [.subscriptionChanged])
            let known = try #require(try await subject.known("1000"))
            #expect(known.revision > 7 && known.state == .active && known.check.dueAt != nil)
            #expect(try await subject.lease().isEmpty)
            #expect(try await subject.settle(leased, [], at: 40).isEmpty)
        }
    }

    @Test(
        "if a submission confirms a subscription's state, the ledger publishes the state above the lost revision",
        arguments: Implementation.allCases)
    func confirmed(implementation: Implementation) async throws {
        try await with(implementation) { subject, makeDue in
            #expect(try await makeDue(7) == 1)
            let answeredAt = FollowedSubscriptionsConformance.base.adding(milliseconds: 21 * 86_400_000)
            let again = try await subject.grant("1000", original: "1000", at: 20, offset: 2) {
                $0.answeredAt = answeredAt
            }
            #expect(again.events.map(\.kind) == [.rejected, .subscriptionChanged])
            #expect(try await subject.known("1000").map { $0.revision > 7 } == true)
            #expect(try await subject.lease().isEmpty)
        }
    }

    @Test(
        "if a renewal is submitted before the check, the state is published above the lost revision; no check is due",
        arguments: Implementation.allCases)
    func changed(implementation: Implementation) async throws {
        try await with(implementation) { subject, makeDue in
            #expect(try await makeDue(7) == 1)
            let next = try await subject.grant("1001", original: "1000", at: 30, offset: 2)
            #expect(next.events.map(\.kind) == [.granted, .subscriptionChanged])
            let known = try #require(try await subject.known("1000"))
            #expect(known.revision > 7)
            #expect(try await subject.lease().isEmpty)
        }
    }
}
