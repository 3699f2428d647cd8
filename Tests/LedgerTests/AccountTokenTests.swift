import Fulfillment
import NamesAndTimes
import Postgres
import Synchronization
import Testing

@testable import BackOffice
@testable import Ledger

@Suite("The account tokens that PostgreSQL stores")
struct AccountTokenTests {
    private static let token = "6e3b2f50-0c1d-4a5e-9f70-112233445566"

    private func decision(
        _ id: Int, player: String, token: String? = token, use: AccountTokenUse = .holds,
        verdict: JudgedPurchase.Verdict = .grant(payload: nil)
    ) -> PendingDecision {
        var purchase = Sample.purchase("\(id)")
        purchase.appAccountToken = Self.token
        return Sample.decision(
            .each([Sample.judged(purchase, .consumable, verdict)]), player: player,
            offset: Int64(id * 1000 + Int(player.utf8.last ?? 0)), submission: "s-\(id)-\(player)", token: token,
            tokenUse: use, risk: RiskThresholds())
    }

    /// Returns the outcome in words such as `held ownership_disputed shared_token`.
    private func words(_ outcome: RecordedOutcome) -> String {
        guard let event = outcome.events.last else { return "nothing" }
        let words = [event.kind.rawValue.split(separator: ".").last.map(String.init), event.reason?.rawValue]
        return (words.compactMap(\.self) + event.risk.map(\.rawValue)).joined(separator: " ")
    }

    @Test(
        "if a second player uses an account token, every replica flags shared_token, and PostgreSQL stores only a hash")
    func remembered() async throws {
        let database = try await LedgerDatabase()
        let (one, other) = (database.ledger(), database.ledger())
        #expect(words(try await one.record(decision(1, player: "buyer"))) == "granted")
        #expect(words(try await other.record(decision(2, player: "thief"))) == "held ownership_disputed shared_token")
        #expect(words(try await one.record(decision(3, player: "cousin", use: .signals))) == "granted shared_token")
        // The disputed submission made no claim.
        #expect(try await database.number("SELECT count(*) FROM claims WHERE player_id = 'thief'") == 0)
        #expect(words(try await one.record(decision(2, player: "buyer"))) == "granted")
        #expect(try await database.number("SELECT count(*) FROM account_tokens WHERE player_id = 'buyer'") == 1)
        #expect(
            try await database.number(
                "SELECT count(*) FROM account_tokens WHERE strpos(encode(token, 'escape'), '6e3b2f50') > 0") == 0)
        #expect(try await database.number("SELECT count(*) FROM account_token_senders") == 3)
        await one.close()
        await other.close()
    }

    @Test(
        "if two players use a new account token simultaneously on two replicas, one purchase is granted and one is held"
    )
    func race() async throws {
        let database = try await LedgerDatabase()
        let ledgers = [database.ledger(), database.ledger()]
        for round in 0..<20 {
            var held = 0
            let outcomes = try await withThrowingTaskGroup(of: RecordedOutcome.self) { group in
                for (index, ledger) in ledgers.enumerated() {
                    var purchase = Sample.purchase("\(round)-\(index)")
                    let token = "00000000-0000-4000-8000-\(100_000_000_000 + round)"
                    purchase.appAccountToken = token
                    let decision = Sample.decision(
                        .each([Sample.judged(purchase)]), player: "\(round) \(index)", offset: Int64(round),
                        partition: Int32(index), token: token, tokenUse: .holds)
                    group.addTask { try await ledger.record(decision) }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            for outcome in outcomes where outcome.reason == .ownershipDisputed { held += 1 }
            #expect(held == 1 && outcomes.flatMap(\.granted).count == 1, "round \(round)")
        }
        for ledger in ledgers { await ledger.close() }
    }

    @Test(
        "if a sixth player uses an account token, the ledger reports it once as constant and grants the disputed holds")
    func constant() async throws {
        let database = try await LedgerDatabase()
        let told = Mutex<[BundleID]>([])
        let ledger = database.ledger(
            observer: LedgerObserver(constantToken: { bundle in told.withLock { $0.append(bundle) } }))
        #expect(words(try await ledger.record(decision(1, player: "p1"))) == "granted")
        for player in 2...5 {
            let outcome = try await ledger.record(decision(player, player: "p\(player)"))
            #expect(words(outcome) == "held ownership_disputed shared_token")
        }
        #expect(told.withLock { $0.isEmpty })
        let holds = PostgresHolds(pool: database.pool)
        #expect(try await holds.leaseDue(catalogVersion: 1, limit: 10).isEmpty)
        #expect(words(try await ledger.record(decision(6, player: "p6"))) == "granted")
        #expect(words(try await ledger.record(decision(7, player: "p7"))) == "granted")
        #expect(told.withLock { $0 } == [Sample.bundle])
        #expect(try await database.number("SELECT count(*) FROM account_token_senders") == 6)
        let due = try await holds.leaseDue(catalogVersion: 1, limit: 10)
        #expect(due.count == 4)
        for hold in due {
            var purchase = Sample.purchase(hold.transactionID.text)
            purchase.appAccountToken = Self.token
            let event = try await holds.settle(
                HoldDecision(
                    hold, verdict: .each([Sample.judged(purchase)]), environment: .production, decidedAt: Sample.noon,
                    catalogVersion: 1, tokenUse: .holds))
            #expect(event?.kind == .granted && event?.risk == [.sharedToken])
        }
        await ledger.close()
    }

    @Test("if a hold ends with a grant, the granted event has the hold's risk signals")
    func signals() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        _ = try await ledger.record(decision(1, player: "a", use: .signals))
        let held = try await ledger.record(decision(2, player: "b", use: .signals, verdict: .hold(.unknownProduct)))
        #expect(words(held) == "held unknown_product shared_token")
        let plain = try await ledger.record(
            Sample.decision([Sample.judged(Sample.purchase("9"), nil, .hold(.unknownProduct))], offset: 9))
        #expect(plain.events.last?.risk == [])
        let holds = PostgresHolds(pool: database.pool)
        let taken = try await holds.leaseDue(catalogVersion: 2, limit: 10)
        #expect(taken.map(\.risk).sorted { $0.count < $1.count } == [[], [.sharedToken]])
        for hold in taken {
            let event = try await holds.settle(
                HoldDecision(
                    hold, verdict: .each([Sample.judged(Sample.purchase(hold.transactionID.text))]),
                    environment: .production, decidedAt: Sample.noon, catalogVersion: 2))
            #expect(event?.kind == .granted && event?.risk == hold.risk)
        }
        await ledger.close()
    }

    @Test("if an operator rejects a disputed hold, the token's owner can get the purchase; a released hold is granted")
    func endings() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        _ = try await ledger.record(decision(1, player: "buyer"))
        for id in 2...3 {
            let outcome = try await ledger.record(decision(id, player: "thief"))
            #expect(words(outcome) == "held ownership_disputed shared_token")
        }
        let store = HoldAdministration(pool: database.pool)
        let refused = try await store.reject(HoldFilter(id: "2"), by: "ann", at: Sample.noon)
        #expect(refused.rejected == 1)
        #expect(words(try await ledger.record(decision(2, player: "buyer"))) == "granted")
        #expect(try await store.release(HoldFilter(id: "3"), by: "ann") == 1)
        let holds = PostgresHolds(pool: database.pool)
        let hold = try #require(try await holds.leaseDue(catalogVersion: 1, limit: 10).first)
        var purchase = Sample.purchase("3")
        purchase.appAccountToken = Self.token
        let event = try await holds.settle(
            HoldDecision(
                hold, verdict: .each([Sample.judged(purchase)]), environment: .production, decidedAt: Sample.noon,
                catalogVersion: 1, tokenUse: .holds))
        #expect(event?.kind == .granted)
        #expect(try await database.number("SELECT count(*) FROM claims WHERE player_id = 'thief'") == 1)
        #expect(words(try await ledger.record(decision(3, player: "buyer"))) == "rejected owned_by_other_player")
        await ledger.close()
    }
}
