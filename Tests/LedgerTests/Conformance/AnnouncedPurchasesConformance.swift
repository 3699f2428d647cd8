import Fulfillment
import Ledger
import NamesAndTimes
import TestSupport
import Testing

@Suite("Stores of announced purchases in memory and in PostgreSQL")
struct AnnouncedPurchasesConformance {
    private typealias Subject = AnnouncedSubject

    @Test(
        "if no player submits an announced purchase in time, the player whom the token names gets it, and only once",
        arguments: Implementation.allCases)
    func granted(implementation: Implementation) async throws {
        try await Subject.with(implementation) { subject in
            try await subject.setGrantsSince(Sample.noon)
            try await subject.tell(isOf: Subject.player)
            try await subject.enter([try Subject.told("1000", name: "first")])
            #expect(try await subject.deliver() == [])
            try await subject.enter([try Subject.told("1000", source: .history, name: "second")])
            try await subject.endPatience()
            let event = try #require(try await subject.events().first)
            #expect(event.kind == .granted && event.playerID == Subject.player)
            let json = String(decoding: event.value, as: UTF8.self)
            #expect(json.contains(#""source":"notification""#) && json.contains(#""submission_id":"apple-first""#))
            #expect(try await subject.deliver() == [])
            #expect(try await subject.submit("1000", offset: 1).reason == .alreadyGranted)
            #expect(try await subject.submit("1000", player: "player-2", offset: 2).reason == .ownedByOtherPlayer)
        }
    }

    @Test(
        "an announced purchase stops waiting for a submission if one is granted or held, but not if one is rejected",
        arguments: Implementation.allCases)
    func claimed(implementation: Implementation) async throws {
        try await Subject.with(implementation) { subject in
            try await subject.setGrantsSince(Sample.noon)
            try await subject.tell(isOf: "player-2")
            try await subject.enter([try Subject.told("1000"), try Subject.told("1001"), try Subject.told("1002")])
            #expect(try await subject.submit("1000", offset: 1).granted.count == 1)
            let held = Sample.judged(Sample.purchase("1001"), .consumable, .hold(.unknownProduct))
            _ = try await subject.ledger.record(Sample.decision([held], offset: 2))
            let refused = Sample.judged(Sample.purchase("1002"), .consumable, .reject(.bindingMismatch))
            _ = try await subject.ledger.record(Sample.decision([refused], offset: 3))
            // Apple announces 1000 after its grant, so this announcement never waits.
            try await subject.enter([try Subject.told("1000", source: .history)])
            try await subject.endPatience()
            #expect(try await subject.deliver() == ["granted"])
            #expect(try await subject.submit("1002", player: "player-2", offset: 4).reason == .alreadyGranted)
        }
    }

    @Test(
        "an unclaimed purchase is granted when its player is known or submits it; a newer catalog judges it again",
        arguments: Implementation.allCases)
    func unclaimed(implementation: Implementation) async throws {
        try await Subject.with(implementation) { subject in
            try await subject.setGrantsSince(Sample.noon)
            try await subject.enter([
                try Subject.told("1000"), try Subject.told("1001", token: nil), try Subject.told("1002", token: nil),
            ])
            try await subject.endPatience()
            #expect(try await subject.deliver() == Array(repeating: "unclaimed unknown_player", count: 3))
            #expect(try await subject.deliver() == [])
            try await subject.tell(isOf: Subject.player)
            #expect(try await subject.deliver() == ["granted"])
            #expect(try await subject.submit("1001", offset: 1).granted.count == 1)
            #expect(try await subject.deliver(under: Subject.catalog(version: 2)) == ["unclaimed unknown_player"])
        }
    }

    @Test(
        "an announced purchase is unclaimed if its app is unknown, the policy is report, or it predates the cut-over",
        arguments: Implementation.allCases)
    func listed(implementation: Implementation) async throws {
        try await Subject.with(implementation) { subject in
            try await subject.tell(isOf: Subject.player)
            try await subject.enter([try Subject.told("1000")])
            try await subject.endPatience()
            let nothing = Catalog(version: 1, apps: [])
            #expect(try await subject.deliver(under: nothing) == ["unclaimed unknown_app"])
            #expect(try await subject.deliver(under: nothing) == [])
            #expect(
                try await subject.deliver(under: Subject.catalog(.report, version: 2)) == ["unclaimed not_delivered"])
            #expect(try await subject.deliver(under: Subject.catalog(.off, version: 3)) == ["ignored"])
            try await subject.setGrantsSince(Sample.noon.adding(milliseconds: 1))
            #expect(try await subject.deliver(under: Subject.catalog(version: 4)) == ["unclaimed bought_before"])
            try await subject.setGrantsSince(Sample.noon)
            let cutover = Subject.catalog(version: 5) { $0.cutover = Sample.noon.adding(milliseconds: 1) }
            #expect(try await subject.deliver(under: cutover) == ["unclaimed bought_before"])
            #expect(try await subject.deliver(under: Subject.catalog(version: 6)) == ["granted"])
        }
    }

    @Test(
        "with `account_token_is: player_id`, an announced purchase is granted to the player whose id is the token",
        arguments: Implementation.allCases)
    func tokenIsPlayer(implementation: Implementation) async throws {
        try await Subject.with(implementation) { subject in
            try await subject.setGrantsSince(Sample.noon)
            try await subject.enter([try Subject.told("1000")])
            try await subject.endPatience()
            let catalog = Subject.catalog { $0.accountTokenIs = .playerID }
            #expect(try await subject.events(under: catalog).map(\.playerID) == [PlayerID(Subject.token)])
        }
    }

    @Test(
        "a sandbox, family-shared or cancelled announced purchase is refused, and no newer catalog judges it again",
        arguments: Implementation.allCases)
    func refused(implementation: Implementation) async throws {
        try await Subject.with(implementation) { subject in
            try await subject.setGrantsSince(Sample.noon)
            try await subject.tell(isOf: Subject.player)
            let notice = RefundNotice(
                id: "refund", change: .revoked(.refund, at: Sample.noon), signedAt: Sample.noon,
                transaction: NotifiedTransaction(
                    purchase: Sample.purchase("1002"), kind: .consumable, bundleID: Sample.bundle,
                    environment: .production))
            _ = try await subject.refunds.apply(
                [
                    ReceivedNotice(
                        StoreNotice(notice, type: "REFUND", id: "refund"), topic: "n", partition: 0, traceparent: nil,
                        decidedAt: Sample.noon)
                ],
                catalog: Subject.catalog())
            try await subject.enter([
                try Subject.told("1000", environment: .sandbox),
                try Subject.told("1001") { $0.ownership = .familyShared },
                try Subject.told("1002", token: nil),
                try Subject.told("1003", token: nil) { $0.cancelledAt = Sample.noon },
            ])
            try await subject.endPatience()
            #expect(
                try await subject.deliver(under: Subject.catalog(.report)) == [
                    "refused sandbox_not_allowed", "refused family_shared", "refused cancelled", "refused cancelled",
                ])
            #expect(try await subject.deliver(under: Subject.catalog(version: 2)) == [])
        }
    }

    @Test(
        "an unreadable announced purchase waits for Apple's answer, and is held if the answer lacks the purchase",
        arguments: Implementation.allCases)
    func unreadable(implementation: Implementation) async throws {
        try await Subject.with(implementation) { subject in
            let asking = Subject.catalog {
                $0.serverAPI = ServerAPICredentials(issuerID: "i", keyID: "k", privateKeySetting: "S")
            }
            try await subject.setGrantsSince(Sample.noon)
            try await subject.tell(isOf: Subject.player)
            try await subject.enter(["1000", "1001"].map { try Subject.told($0) { $0.unreadable = ["quantity"] } })
            try await subject.endPatience()
            let leased = try await subject.announced.leaseDue(under: asking, limit: 50)
            #expect(leased.count == 2)
            #expect(try await subject.announced.deliver(leased, under: asking, at: Sample.noon).isEmpty)
            var answer = NotifiedTransaction(
                purchase: Sample.purchase("1000"), kind: .consumable, bundleID: Sample.bundle,
                environment: .production)
            answer.purchase.appAccountToken = Subject.token
            // An answer about 1000 has no effect on 1001.
            let asked = leased.map { $0.told(answer) }
            let outcomes = try await subject.announced.deliver(asked, under: asking, at: Sample.noon)
            #expect(
                outcomes.sorted { $0.transactionID < $1.transactionID }.map(\.inWords) == [
                    "granted", "held unreadable_transaction",
                ])
        }
    }

    @Test(
        "if a purchase's published grant was lost, its announcement waits for Apple's answer; a renewal's does not",
        arguments: Implementation.allCases)
    func published(implementation: Implementation) async throws {
        try await Subject.with(implementation) { subject in
            let asking = Subject.catalog {
                $0.serverAPI = ServerAPICredentials(issuerID: "i", keyID: "k", privateKeySetting: "S")
            }
            func deliver(_ leased: [LeasedAnnouncement], under catalog: Catalog) async throws -> [String] {
                try await subject.announced.deliver(leased, under: catalog, at: Sample.noon)
                    .sorted { $0.transactionID < $1.transactionID }.map(\.inWords)
            }
            try await subject.setGrantsSince(Sample.noon)
            try await subject.enter(
                try ["1000", "1001", "1002"].map { try Subject.told($0) } + [try Subject.renewal("5001")])
            try await subject.endPatience()
            let early = try await subject.announced.leaseDue(under: asking, limit: 50)
            #expect(early.allSatisfy { !$0.isPublished })
            let claims = ["1000", "1001", "1002"].map {
                PublishedClaim(Identifier($0), of: Subject.player, in: Sample.bundle, published: Identifier($0))
            }
            try await subject.claims.enter(claims)
            try await subject.claims.enter(
                PublishedClaim.claims(
                    of: "5001", under: "5000", period: nil, playerID: Subject.player, bundleID: Sample.bundle))
            // The claims were entered after this lease. Apple must first be asked about 1000, 1001 and 1002. Only the
            // renewal 5001 is granted.
            #expect(try await deliver(early, under: asking) == ["granted"])
            try await subject.endLeases()
            let leased = try await subject.announced.leaseDue(under: asking, limit: 50)
            #expect(leased.map(\.isPublished) == [true, true, true])
            #expect(try await deliver(leased, under: asking) == [])
            var refunded = NotifiedTransaction(
                purchase: Sample.purchase("1000"), kind: .consumable, bundleID: Sample.bundle, environment: .production)
            refunded.purchase.cancelledAt = Sample.noon.adding(milliseconds: 60_000)
            #expect(
                try await deliver(leased.prefix(2).map { $0.told(refunded) }, under: asking) == [
                    "refused cancelled", "granted",
                ])
            #expect(try await deliver(Array(leased.suffix(1)), under: Subject.catalog()) == ["granted"])
        }
    }

    @Test(
        "an announced purchase is isolated after three expired leases, and set aside after three deaths of workers",
        arguments: Implementation.allCases)
    func suspects(implementation: Implementation) async throws {
        try await Subject.with(implementation) { subject in
            let (announced, catalog) = (subject.announced, Subject.catalog())
            func takeIsolated() async throws -> LeasedAnnouncement? {
                if case .isolated(let one) = try await announced.leaseSuspect(under: catalog) { one } else { nil }
            }
            try await subject.setGrantsSince(Sample.noon)
            try await subject.enter([try Subject.told("1000")])
            try await subject.endPatience()
            // After a failed delivery, the worker clears the suspicion of all purchases of the lease, so these leases
            // do not count.
            for _ in 0..<4 {
                try await announced.forgive(try await announced.leaseDue(under: catalog, limit: 10))
                try await subject.endLeases()
            }
            for _ in 0..<3 {
                #expect(try await takeIsolated() == nil)
                #expect(try await announced.leaseDue(under: catalog, limit: 10).count == 1)
                try await subject.endLeases()
            }
            #expect(try await announced.leaseDue(under: catalog, limit: 10).isEmpty)
            let forgiven = try #require(try await takeIsolated())
            #expect(try await takeIsolated() == nil)
            try await announced.forgive([forgiven])
            try await subject.endLeases()
            for _ in 0..<3 {
                #expect(try await takeIsolated()?.purchase.purchase.transactionID == "1000")
                try await subject.endLeases()
            }
            guard case .setAside(let purchase) = try await announced.leaseSuspect(under: catalog) else {
                Issue.record("it is not set aside")
                return
            }
            #expect(
                purchase
                    == SetAsidePurchase(
                        transactionID: "1000", bundleID: Sample.bundle, source: .notification, deaths: 3))
            let newer = Subject.catalog(version: 2)
            #expect(try await takeIsolated() == nil)
            #expect(try await announced.leaseDue(under: newer, limit: 10).isEmpty)
        }
    }
}
