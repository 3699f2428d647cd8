import Fulfillment
import NamesAndTimes
import Postgres
import TestSupport
import Testing

@testable import BackOffice
@testable import Ledger

@Suite("Subscription periods with several transaction ids in PostgreSQL")
struct PeriodIdentityTests {
    private static let end = Sample.noon.adding(milliseconds: AnnouncedSubject.period)

    private static func judged(_ id: String, original: String, charged: String, previous: String? = nil)
        -> JudgedPurchase
    {
        var purchase = Sample.purchase(id, original: original, product: "pass", expires: end)
        purchase.webOrderLineItemID = Identifier(charged)
        purchase.previousOriginalTransactionID = previous.map { Identifier($0) }
        return Sample.judged(purchase, .autoRenewableSubscription)
    }

    private static func imported(
        _ id: String, original: String, charged: String?, player: String = "player-1", line: Int = 1
    ) -> ImportedGrant {
        ImportedGrant(
            line: line, transactionID: Identifier(id), originalTransactionID: Identifier(original),
            playerID: Identifier(player), bundleID: Sample.bundle, productID: "pass", quantity: 1,
            environment: .production, purchasedAt: Sample.noon, expiresAt: end, revokedAt: nil,
            grantedAt: Sample.noon, submissionID: "import", charged: charged.map { Identifier($0) })
    }

    @Test("if two players submit a period under two original transactions to two replicas, one player is granted")
    func race() async throws {
        let database = try await LedgerDatabase()
        let (one, two) = (database.ledger(), database.ledger())
        for round in 0..<60 {
            func decision(_ side: Int) -> PendingDecision {
                let id = "\(1000 + 2 * round + side)"
                return Sample.decision(
                    [Self.judged(id, original: id, charged: "\(round + 1)")], player: "player-\(side)",
                    offset: Int64(round), partition: Int32(side))
            }
            async let first = one.record(decision(0))
            async let second = two.record(decision(1))
            let outcomes = try await [first, second]
            #expect(outcomes.flatMap(\.granted).count == 1)
            #expect(outcomes.compactMap(\.reason) == [.ownedByOtherPlayer])
        }
        #expect(try await database.number("SELECT count(*) FROM grants WHERE period_id IS NOT NULL") == 60)
        await one.close()
        await two.close()
    }

    @Test("a subscription period gets a claim besides the original transaction's claim, and a consumable does not")
    func rows() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        _ = try await ledger.record(
            Sample.decision(
                [Self.judged("1000", original: "1000", charged: "1"), Sample.judged(Sample.purchase("2000"))], offset: 1
            ))
        #expect(try await database.number("SELECT count(*) FROM claims") == 3)
        #expect(
            try await database.number("SELECT count(*) FROM claims WHERE original_transaction_id LIKE 'period %'") == 1)
        await ledger.close()
    }

    @Test("an import enters a period once under several ids, and reports a period of another player as a conflict")
    func imports() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let importing = GrantImport(pool: database.pool)
        let first = try await importing.enter([
            Self.imported("1001", original: "1000", charged: "7", line: 2),
            Self.imported("2000", original: "2000", charged: "7", line: 3),
            Self.imported("3000", original: "3000", charged: "8", player: "player-2", line: 4),
        ])
        #expect(first == GrantImport.Entered(entered: 2, conflicts: []))
        let other = Sample.decision(
            [Self.judged("2000", original: "2000", charged: "7")], player: "player-2", offset: 1)
        #expect(try await ledger.record(other).reason == .ownedByOtherPlayer)
        let again = try await importing.enter([
            Self.imported("1001", original: "1000", charged: "7", line: 2),
            Self.imported("4000", original: "4000", charged: "8", line: 3),
        ])
        #expect(again == GrantImport.Entered(entered: 0, conflicts: [3]))
        // An import without a charge id finds the period by its times and the previous original transaction.
        _ = try await importing.enter([Self.imported("5001", original: "5000", charged: nil)])
        let following = Sample.decision(
            [Self.judged("6000", original: "6000", charged: "9", previous: "5000")], offset: 2)
        #expect(try await ledger.record(following).reason == .alreadyGranted)
        await ledger.close()
    }

    @Test("if a held period is imported under another transaction id, the hold settles as already granted")
    func importedHold() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        var judged = Self.judged("2000", original: "2000", charged: "7")
        judged = Sample.judged(judged.purchase, .autoRenewableSubscription, .hold(.beforeCutover))
        _ = try await ledger.record(Sample.decision([judged], offset: 1))
        let entered = try await GrantImport(pool: database.pool).enter([
            Self.imported("1001", original: "1000", charged: "7")
        ])
        #expect(entered == GrantImport.Entered(entered: 1, conflicts: []))
        let holds = PostgresHolds(pool: database.pool)
        let hold = try #require(try await holds.leaseDue(catalogVersion: 1, limit: 1).first)
        let event = try await holds.settle(
            HoldDecision(
                hold, verdict: .each([judged]), environment: .production, decidedAt: Sample.noon, catalogVersion: 1))
        #expect(event?.kind == .rejected && event?.reason == .alreadyGranted)
        await ledger.close()
    }

    @Test("a subscription does not inherit an owner from a subscription of another environment")
    func anotherEnvironment() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        _ = try await ledger.record(
            Sample.decision([Self.judged("1000", original: "1000", charged: "1")], offset: 1))
        func following(_ environment: StoreEnvironment, _ id: String, offset: Int64) -> PendingDecision {
            PendingDecision(
                submission: Sample.submission("s-\(offset)", player: "player-2"), position: Sample.position(offset),
                proof: Sample.digest("proof \(offset)"),
                verdict: .each([Self.judged(id, original: id, charged: id, previous: "1000")]),
                environment: environment, evidence: nil, decidedAt: Sample.noon, catalogVersion: 1, traceparent: nil)
        }
        #expect(try await ledger.record(following(.production, "2000", offset: 2)).reason == .ownedByOtherPlayer)
        #expect(try await ledger.record(following(.sandbox, "3000", offset: 3)).granted.count == 1)
        await ledger.close()
    }

    @Test(
        "if a subscription's original transaction changes twice, the subscription still belongs to the first owner",
        arguments: [false, true])
    func chain(isFirstChangeKnown: Bool) async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let first = [
            Self.judged("2000", original: "2000", charged: "1"), Self.judged("1000", original: "1000", charged: "1"),
        ]
        _ = try await ledger.record(Sample.decision([first[1]], offset: 1))
        if isFirstChangeKnown {
            #expect(try await ledger.record(Sample.decision(first, offset: 4)).reason == .alreadyGranted)
        }
        // The second period has no owner yet. Only the first period's originals lead to the player.
        let chain =
            [
                Self.judged("5000", original: "3000", charged: "3"),
                Self.judged("4000", original: "3000", charged: "2"),
                Self.judged("3000", original: "2000", charged: "2"),
            ] + first
        let other = try await ledger.record(Sample.decision(chain, player: "player-2", offset: 2))
        #expect(other.granted.isEmpty && other.reason == .ownedByOtherPlayer)
        #expect(try await ledger.record(Sample.decision(chain, offset: 3)).granted.count == 2)
        await ledger.close()
    }

    @Test(
        "a granted period's second original transaction belongs to the period's owner, whoever submits it",
        arguments: [false, true])
    func shownByAnother(isRejected: Bool) async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        _ = try await ledger.record(
            Sample.decision([Self.judged("1000", original: "1000", charged: "1")], offset: 1))
        var copy = Self.judged("2000", original: "2000", charged: "1")
        if isRejected {
            copy = Sample.judged(copy.purchase, .autoRenewableSubscription, .reject(.subscriptionExpired))
        }
        let shown = try await ledger.record(Sample.decision([copy], player: "player-2", offset: 2))
        #expect(shown.reason == .ownedByOtherPlayer)
        let later = Self.judged("2001", original: "2000", charged: "2")
        let stolen = try await ledger.record(Sample.decision([later], player: "player-2", offset: 3))
        #expect(stolen.reason == .ownedByOtherPlayer)
        #expect(try await ledger.record(Sample.decision([later], offset: 4)).granted.count == 1)
        await ledger.close()
    }

    @Test("if a family member's copy shows a granted period, the copy's subscription does not go to the grant's owner")
    func familyMember() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        _ = try await ledger.record(
            Sample.decision([Self.judged("1000", original: "1000", charged: "1")], offset: 1))
        var purchase = Self.judged("2000", original: "2000", charged: "1").purchase
        purchase.ownership = .familyShared
        let copy = Sample.judged(purchase, .autoRenewableSubscription, .reject(.familyShared))
        _ = try await ledger.record(Sample.decision([copy], player: "player-2", offset: 2))
        let own = Self.judged("2001", original: "2000", charged: "2")
        #expect(try await ledger.record(Sample.decision([own], player: "player-2", offset: 3)).granted.count == 1)
        await ledger.close()
    }

    @Test("after a player's erasure, the period claim no longer names the player, and still rejects a second player")
    func erased() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        _ = try await ledger.record(
            Sample.decision([Self.judged("1000", original: "1000", charged: "1")], offset: 1))
        var random = SystemRandomNumberGenerator()
        _ = try await PlayerErasure(of: "player-1", in: database.pool)
            .run(pseudonym: Pseudonym.make(using: &random), by: "ann")
        #expect(try await database.number("SELECT count(*) FROM claims WHERE player_id = 'player-1'") == 0)
        let other = Sample.decision(
            [Self.judged("2000", original: "2000", charged: "1")], player: "player-2", offset: 2)
        #expect(try await ledger.record(other).reason == .ownedByOtherPlayer)
        await ledger.close()
    }
}
