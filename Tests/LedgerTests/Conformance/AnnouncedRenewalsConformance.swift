import Fulfillment
import Ledger
import NamesAndTimes
import TestSupport
import Testing

/// Tests rules that every store keeps for further periods of subscriptions, even if the owner and the token's player
/// differ.
@Suite("Stores in memory and in PostgreSQL: announced renewals")
struct AnnouncedRenewalsConformance {
    private typealias Subject = AnnouncedSubject

    private func subscribe(_ subject: Subject, player: String = "player-1") async throws {
        let outcome = try await subject.submit(
            "5000", product: "pass", kind: .autoRenewableSubscription, player: player, offset: 1)
        #expect(outcome.granted.count == 1)
    }

    @Test(
        "if Apple announces a renewal, the subscription's owner gets it immediately, whatever the catalog's policy",
        arguments: Implementation.allCases, [AnnouncementPolicy.MissedPurchasePolicy.report, .off, .grant])
    func owned(implementation: Implementation, policy: AnnouncementPolicy.MissedPurchasePolicy) async throws {
        try await Subject.with(implementation) { subject in
            try await subscribe(subject)
            // The period's token names another player.
            try await subject.tell(isOf: "player-2")
            try await subject.enter([try Subject.renewal("5001", token: Subject.token)])
            let catalog = Subject.catalog(policy) { app in
                app.cutover = Sample.noon.adding(milliseconds: 1)
                app.currencies = ["EUR"]
                app.accountToken = .require
                app.products["pass"]?.isRetired = true
                app.products["pass"]?.onRetired = .reject
                app.products["pass"]?.dailyLimit = 1
            }
            let events = try await subject.events(under: catalog)
            #expect(events.map(\.kind) == [.granted] && events.first?.playerID == "player-1")
            #expect(try await subject.deliver(under: catalog) == [])
        }
    }

    @Test(
        "an announced renewal that has expired is refused even to the subscription's owner, but not in a grace period",
        arguments: Implementation.allCases)
    func over(implementation: Implementation) async throws {
        try await Subject.with(implementation) { subject in
            try await subscribe(subject)
            let over = try Subject.told("5001", original: "5000") {
                $0 = Sample.purchase("5001", original: "5000", product: "pass", expires: Sample.noon)
            }
            var inGrace = try Subject.told("5002", original: "5000") {
                $0 = Sample.purchase("5002", original: "5000", product: "pass", expires: Sample.noon)
            }
            inGrace.graceExpiresAt = Sample.noon.adding(milliseconds: 1)
            try await subject.enter([over, inGrace])
            #expect(try await subject.deliver() == ["refused subscription_expired", "granted"])
        }
    }

    @Test(
        "an unclaimed renewal is granted as soon as a submission or a delivery grants the original transaction",
        arguments: Implementation.allCases)
    func ownerComes(implementation: Implementation) async throws {
        try await Subject.with(implementation) { subject in
            try await subject.enter([try Subject.renewal("5001"), try Subject.renewal("6001", original: "6000")])
            let catalog = Subject.catalog(.report)
            #expect(try await subject.deliver(under: catalog) == [])
            try await subject.endPatience()
            #expect(try await subject.deliver(under: catalog) == Array(repeating: "unclaimed not_delivered", count: 2))
            try await subscribe(subject)
            #expect(try await subject.deliver(under: catalog) == ["granted"])
            // A delivery now grants the other subscription's original transaction, and so makes its renewal 6001 due.
            try await subject.setGrantsSince(Sample.noon)
            try await subject.tell(isOf: Subject.player)
            try await subject.enter([
                try Subject.told("6000") {
                    let expires = Sample.noon.adding(milliseconds: Subject.period)
                    $0 = Sample.purchase("6000", product: "pass", expires: expires)
                    $0.appAccountToken = Subject.token
                }
            ])
            try await subject.endPatience()
            #expect(try await subject.deliver(under: Subject.catalog(version: 2)) == ["granted"])
            #expect(try await subject.deliver(under: Subject.catalog(version: 2)) == ["granted"])
            let late = try await subject.submit(
                "6001", original: "6000", product: "pass", kind: .autoRenewableSubscription, offset: 9)
            #expect(late.reason == .alreadyGranted)
        }
    }

    @Test(
        "a follow-up subscription's first period is granted as soon as the previous subscription has an owner",
        arguments: Implementation.allCases)
    func following(implementation: Implementation) async throws {
        try await Subject.with(implementation) { subject in
            var next = try Subject.renewal("7000", original: "7000")
            next.previousOriginalTransactionID = "5000"
            try await subject.enter([next])
            try await subject.endPatience()
            #expect(try await subject.deliver(under: Subject.catalog(.report)) == ["unclaimed not_delivered"])
            try await subscribe(subject)
            let events = try await subject.events(under: Subject.catalog(.report))
            #expect(events.map(\.kind) == [.granted] && events.first?.playerID == "player-1")
        }
    }

    @Test(
        "under the policy `report`, a held original's renewal waits for a submission, and without one is unclaimed",
        arguments: Implementation.allCases)
    func heldOriginal(implementation: Implementation) async throws {
        try await Subject.with(implementation) { subject in
            let judged = Sample.judged(
                Sample.purchase("5000", product: "pass"), .autoRenewableSubscription, .hold(.beforeCutover))
            _ = try await subject.ledger.record(Sample.decision([judged], offset: 1))
            try await subject.enter([try Subject.renewal("5001")])
            #expect(try await subject.deliver(under: Subject.catalog(.report)) == [])
            try await subject.endPatience()
            #expect(try await subject.deliver(under: Subject.catalog(.report)) == ["unclaimed not_delivered"])
        }
    }

    @Test(
        "if Apple announces a purchase of another player's subscription, it is held for the player of its token",
        arguments: Implementation.allCases)
    func disputed(implementation: Implementation) async throws {
        try await Subject.with(implementation) { subject in
            try await subject.setGrantsSince(Sample.noon)
            // The grant of a later period makes its player the owner of the original transaction.
            let later = try await subject.submit(
                "5001", original: "5000", product: "pass", kind: .autoRenewableSubscription, offset: 1)
            #expect(later.granted.count == 1)
            try await subject.tell(isOf: "player-2")
            let original = try Subject.told("5000") {
                $0 = Sample.purchase("5000", product: "pass", expires: Sample.noon.adding(milliseconds: Subject.period))
                $0.appAccountToken = Subject.token
            }
            try await subject.enter([original])
            try await subject.endPatience()
            let held = try #require(try await subject.events().first)
            #expect(held.kind == .held && held.reason == .ownershipDisputed && held.playerID == "player-2")
            #expect(try await subject.deliver(under: Subject.catalog(version: 2)) == [])
            try await subject.release("5000")
            let hold = try #require(try await subject.holds.leaseDue(catalogVersion: 1, limit: 5).first)
            #expect(hold.announced?.source == .notification)
            let judge = Judge(
                submission: hold.submission, under: try #require(Subject.catalog().terms[Sample.bundle]),
                recordTimestamp: hold.position.timestamp, now: Sample.noon, signature: .proven, waived: hold.waived,
                announced: hold.announced)
            let evidence = try #require(hold.evidence)
            guard case .decided(let verdict) = judge.judge(.genuine(evidence), doubts: { _ in 0 }) else {
                Issue.record("it is not decided")
                return
            }
            let event = try await subject.holds.settle(
                HoldDecision(
                    hold, verdict: verdict, environment: .production, decidedAt: Sample.noon, catalogVersion: 1))
            #expect(event?.kind == .granted && event?.playerID == "player-2")
            let json = String(decoding: event?.value ?? [], as: UTF8.self)
            #expect(json.contains(#""source":"notification""#) && json.contains(#""submission_id":"apple-uuid-5000""#))
        }
    }

    @Test(
        "if an announced purchase is held, the event has the id of a first hold; a second player is rejected",
        arguments: Implementation.allCases)
    func heldID(implementation: Implementation) async throws {
        try await Subject.with(implementation) { subject in
            try await subject.setGrantsSince(Sample.noon)
            try await subject.tell(isOf: Subject.player)
            try await subject.enter([try Subject.told("1000") { $0 = Self.unknown($0) }])
            try await subject.endPatience()
            let event = try #require(try await subject.events().first)
            #expect(event.kind == .held && event.reason == .unknownProduct)
            #expect(event.eventID == OutcomeEvent.eventID(.held, transaction: "1000", timesHeld: 0))
            #expect(try await subject.submit("1000", player: "player-2", offset: 1).reason == .ownedByOtherPlayer)
        }
    }

    private static func unknown(_ purchase: StorePurchase) -> StorePurchase {
        var unknown = Sample.purchase(purchase.transactionID.text, product: "silver")
        unknown.appAccountToken = purchase.appAccountToken
        return unknown
    }
}
