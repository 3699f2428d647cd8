import Fulfillment
import Ledger
import NamesAndTimes
import TestSupport
import Testing

@Suite("Stores of published claims in memory and in PostgreSQL")
struct PublishedClaimsConformance {
    private func claim(_ transaction: StoreTransactionID, _ player: PlayerID) -> PublishedClaim {
        PublishedClaim(transaction, of: player, in: Sample.bundle, published: transaction)
    }

    /// Runs `check` on an empty ledger, in memory or in PostgreSQL.
    private func with(
        _ implementation: Implementation, _ check: (any PurchaseLedger, any PublishedClaims) async throws -> Void
    ) async throws {
        switch implementation {
        case .inMemory:
            let ledger = InMemoryLedger()
            try await check(ledger, ledger)
        case .postgres:
            let database = try await LedgerDatabase()
            let ledger = database.ledger()
            try await check(ledger, PostgresClaims(pool: database.pool))
            await ledger.close()
        }
    }

    private func check(_ kind: ProductKind, _ ledger: any PurchaseLedger, _ claims: any PublishedClaims) async throws {
        func decide(_ id: String, _ player: String, _ offset: Int64) async throws -> RecordedOutcome {
            try await ledger.record(
                Sample.decision(
                    .each([Sample.judged(Sample.purchase(id), kind, .grant(payload: nil))]), player: player,
                    offset: offset, isDecidedAgain: true))
        }
        _ = try await decide("1001", "player-2", 1)
        for _ in 0...1 {
            try await claims.enter([claim("1000", "player-1"), claim("1001", "player-1")])
            try await claims.enter([claim("1000", "player-3")])
        }
        #expect(try await decide("1000", "player-2", 2).reason == .ownedByOtherPlayer)
        #expect(try await decide("1000", "player-1", 3).granted.map(\.subject) == ["1000"])
        #expect(try await decide("1000", "player-2", 4).reason == .ownedByOtherPlayer)
        // A granted purchase stays with its player.
        #expect(try await decide("1001", "player-1", 5).reason == .ownedByOtherPlayer)
    }

    @Test(
        "if a published grant was lost, the purchase belongs to the published player, whoever submits it first",
        arguments: Implementation.allCases,
        [ProductKind.consumable, .nonConsumable, .autoRenewableSubscription])
    func owners(implementation: Implementation, kind: ProductKind) async throws {
        try await with(implementation) { try await check(kind, $0, $1) }
    }

    @Test(
        "the ledger counts the published revisions of grants that it lacks",
        arguments: Implementation.allCases)
    func lacking(implementation: Implementation) async throws {
        try await with(implementation) { ledger, claims in
            _ = try await ledger.record(
                Sample.decision(
                    .each([Sample.judged(Sample.purchase("1000"), .consumable, .grant(payload: nil))]),
                    player: "player-1", offset: 1))
            #expect(try await claims.lacks(.grant, "1000", 1) == 0)
            #expect(try await claims.lacks(.grant, "1000", 2) == 1)
            #expect(try await claims.lacks(.grant, "1001", 1) == 1)
            #expect(try await claims.countLacking([]) == 0)
        }
    }

    @Test(
        "the ledger counts the published revisions of subscriptions that it lacks",
        arguments: Implementation.allCases)
    func lackingSubscription(implementation: Implementation) async throws {
        try await with(implementation) { ledger, claims in
            let purchase = FollowedSubscriptionsConformance.period("1001", original: "1000", at: 0)
            let evidence = GenuineReceipt(
                bundleID: Sample.bundle, environment: .production, purchases: [purchase], holdsAutoRenewable: true)
            let now = FollowedSubscriptionsConformance.base.adding(milliseconds: 1)
            let decision = PendingDecision(
                submission: Sample.submission("s-1", player: "player-1"), position: Sample.position(1),
                proof: Sample.digest("proof"),
                verdict: .each([Sample.judged(purchase, .autoRenewableSubscription, .grant(payload: nil))]),
                environment: .production, evidence: nil, decidedAt: now, catalogVersion: 1, traceparent: nil,
                subscriptions: ToldSubscriptions(
                    evidence, submitted: nil, under: FollowedSubscriptionsConformance.app(), now: now))
            _ = try await ledger.record(decision)
            #expect(try await claims.lacks(.subscription, "1000", 1) == 0)
            #expect(try await claims.lacks(.subscription, "1000", 2) == 1)
            // A period's transaction id names no subscription. An original transaction may lack a grant.
            #expect(try await claims.lacks(.subscription, "1001", 1) == 1)
            #expect(try await claims.lacks(.grant, "1000", 1) == 1)
        }
    }

    private func checkPeriod(_ ledger: any PurchaseLedger, _ claims: any PublishedClaims) async throws {
        func decide(_ id: String, _ player: String, _ offset: Int64) async throws -> RecordedOutcome {
            var purchase = Sample.purchase(id)
            purchase.webOrderLineItemID = "777"
            return try await ledger.record(
                Sample.decision(
                    .each([Sample.judged(purchase, .autoRenewableSubscription, .grant(payload: nil))]),
                    player: player, offset: offset))
        }
        let period = PeriodIdentity.claim(
            of: "1000", under: "1000", goingOnFrom: nil, charged: "777", of: "gold", from: nil, to: nil,
            in: StoreApp(Sample.bundle, in: .production))
        try await claims.enter(
            PublishedClaim.claims(
                of: "1000", under: "1000", period: period, playerID: "player-1", bundleID: Sample.bundle))
        #expect(try await decide("2000", "player-2", 1).reason == .ownedByOtherPlayer)
        #expect(try await decide("2000", "player-1", 2).reason == .alreadyGranted)
        #expect(try await decide("1000", "player-1", 3).granted.map(\.subject) == ["1000"])
        #expect(try await decide("2000", "player-1", 4).reason == .alreadyGranted)
    }

    @Test(
        "if a period's published grant was lost, only the grant's player gets it, under the same transaction id",
        arguments: Implementation.allCases)
    func periods(implementation: Implementation) async throws {
        try await with(implementation) { try await checkPeriod($0, $1) }
    }

    @Test(
        "a subscription that shares a period whose published grant was lost belongs to the grant's player",
        arguments: Implementation.allCases, [true, false])
    func sharedPeriods(implementation: Implementation, isShown: Bool) async throws {
        func judged(_ id: String, under original: String, charged: String) -> JudgedPurchase {
            var purchase = Sample.purchase(id, original: original, product: "gold")
            purchase.webOrderLineItemID = Identifier(charged)
            return Sample.judged(purchase, .autoRenewableSubscription, .grant(payload: nil))
        }
        let period = PeriodIdentity.claim(
            of: "2000", under: "2000", goingOnFrom: nil, charged: "777", of: "gold", from: nil, to: nil,
            in: StoreApp(Sample.bundle, in: .production))
        try await with(implementation) { ledger, claims in
            try await claims.enter(
                PublishedClaim.claims(
                    of: "2000", under: "2000", period: period, playerID: "player-1", bundleID: Sample.bundle))
            // Apple's answer lists the period under the second subscription, and in one case under the first
            // subscription too.
            let answer =
                [judged("1000", under: "1000", charged: "776"), judged("1001", under: "1000", charged: "777")]
                + (isShown ? [judged("2000", under: "2000", charged: "777")] : [])
            let outcome = try await ledger.record(Sample.decision(.each(answer), player: "player-2", offset: 1))
            #expect(outcome.granted.isEmpty && outcome.reason == .ownedByOtherPlayer)
        }
    }

    private func checkCopies(_ ledger: any PurchaseLedger, _ claims: any PublishedClaims) async throws {
        func decide(_ id: String, _ offset: Int64) async throws -> RecordedOutcome {
            let purchase = Sample.purchase(id, original: "1000")
            return try await ledger.record(
                Sample.decision(
                    .each([Sample.judged(purchase, .nonConsumable, .grant(payload: nil))]), player: "player-1",
                    offset: offset, isDecidedAgain: true))
        }
        for id in ["1000", "1001"] {
            try await claims.enter(
                PublishedClaim.claims(
                    of: Identifier(id), under: "1000", period: nil, playerID: "player-1", bundleID: Sample.bundle))
        }
        #expect(try await decide("1000", 1).granted.map(\.subject) == ["1000"])
        #expect(try await decide("1001", 2).granted.map(\.subject) == ["1001"])
        #expect(try await decide("1001", 3).reason == .alreadyGranted)
        #expect(try await decide("1002", 4).reason == .alreadyGranted)
    }

    @Test(
        "if the published grants of an original and its restored copy were lost, both are granted again",
        arguments: Implementation.allCases)
    func copies(implementation: Implementation) async throws {
        try await with(implementation) { try await checkCopies($0, $1) }
    }

    private func checkHeld(_ ledger: any PurchaseLedger, _ claims: any PublishedClaims) async throws {
        func decide(
            _ verdict: JudgedPurchase.Verdict, _ offset: Int64, isDecidedAgain: Bool = true
        ) async throws -> RecordedOutcome {
            try await ledger.record(
                Sample.decision(
                    .each([Sample.judged(Sample.purchase("1000"), .consumable, verdict)]), player: "player-1",
                    offset: offset, isDecidedAgain: isDecidedAgain))
        }
        try await claims.enter([claim("1000", "player-1")])
        let sentAfter = try await decide(.hold(.unreadableTransaction), 0, isDecidedAgain: false)
        #expect(sentAfter.reason == .alreadyGranted)
        #expect(try await decide(.hold(.unreadableTransaction), 1).reason == .unreadableTransaction)
        #expect(try await decide(.hold(.unreadableTransaction), 2).reason == .unreadableTransaction)
        #expect(try await decide(.grant(payload: nil), 3).granted.map(\.subject) == ["1000"])
        #expect(try await decide(.grant(payload: nil), 4).reason == .alreadyGranted)
        #expect(try await decide(.hold(.unreadableTransaction), 5).reason == .alreadyGranted)
    }

    @Test(
        "if a purchase whose published grant was lost is held, a later decision grants it again, and the hold ends",
        arguments: Implementation.allCases)
    func held(implementation: Implementation) async throws {
        switch implementation {
        case .inMemory:
            let ledger = InMemoryLedger()
            try await checkHeld(ledger, ledger)
        case .postgres:
            let database = try await LedgerDatabase()
            let ledger = database.ledger()
            try await checkHeld(ledger, PostgresClaims(pool: database.pool))
            #expect(
                try await database.number("SELECT (SELECT count(*) FROM holds) + count(*) FROM held_submissions") == 0)
            await ledger.close()
        }
    }

    @Test(
        "if an announced purchase was published as granted, the published player gets it, whomever the token names",
        arguments: Implementation.allCases)
    func announced(implementation: Implementation) async throws {
        try await AnnouncedSubject.with(implementation) { subject in
            try await subject.setGrantsSince(Sample.noon)
            try await subject.claims.enter([claim("1000", "player-1")])
            try await subject.tell(isOf: "player-2")
            try await subject.enter([try AnnouncedSubject.told("1000")])
            try await subject.endPatience()
            let granted = try #require(try await subject.events().first)
            #expect(granted.kind == .granted && granted.playerID == "player-1")
        }
    }

    @Test(
        "if a published grant was lost, the purchase is granted again, even if its token now names a different player")
    func toldTokens() {
        let token = "1a2b3c4d-0000-4000-8000-000000000001"
        var purchase = Sample.purchase("1000")
        purchase.appAccountToken = token
        func granted(isPublished: Bool) -> [StoreTransactionID] {
            var view = LedgerView()
            if isPublished {
                view.claims["1000"] = LedgerView.Claim(player: "player-1")
                view.claims["1000"]?.lostTransaction = "1000"
            }
            view.tokens[AccountTokenKey(bundleID: Sample.bundle, token: token), default: AccountTokenFacts()].told =
                "player-2"
            let decision = Sample.decision(.each([Sample.judged(purchase)]), player: "player-1", offset: 1)
            return decision.settle(in: &view).grants.map(\.purchase.transactionID)
        }
        #expect(granted(isPublished: false).isEmpty)
        #expect(granted(isPublished: true) == ["1000"])
    }
}

extension PublishedClaims {
    fileprivate func lacks(
        _ subject: PublishedRevision.Subject, _ id: StoreTransactionID, _ revision: Int32
    ) async throws -> Int {
        try await countLacking([
            PublishedRevision(subject, id, revision: revision, at: Timestamp(milliseconds: 0))
        ])
    }
}
