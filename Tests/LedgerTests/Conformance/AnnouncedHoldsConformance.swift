import Fulfillment
import Ledger
import NamesAndTimes
import TestSupport
import Testing

/// Tests rules that every store keeps for an announced purchase whose hold has ended without a grant.
@Suite("Stores in memory and in PostgreSQL: announced purchases after a hold")
struct AnnouncedHoldsConformance {
    private typealias Subject = AnnouncedSubject

    private func hold(_ id: String, offset: Int64, in subject: Subject) async throws {
        let held = Sample.judged(Sample.purchase(id), .consumable, .hold(.unknownProduct))
        let outcome = try await subject.ledger.record(Sample.decision([held], offset: offset))
        #expect(outcome.events.map(\.kind) == [.held])
    }

    private func end(_ id: String, for reason: Reason, in subject: Subject) async throws {
        try await subject.release(Identifier(id))
        let hold = try #require(try await subject.holds.leaseDue(catalogVersion: 1, limit: 5).first)
        let judged = Sample.judged(Sample.purchase(id), .consumable, .reject(reason))
        let event = try await subject.holds.settle(
            HoldDecision(
                hold, verdict: .each([judged]), environment: .production, decidedAt: Sample.noon, catalogVersion: 1))
        #expect(event?.reason == reason)
    }

    @Test(
        "if another player's hold ends without a grant, the player whom the token names gets the announced purchase",
        arguments: Implementation.allCases)
    func others(implementation: Implementation) async throws {
        try await Subject.with(implementation) { subject in
            try await subject.setGrantsSince(Sample.noon)
            try await subject.tell(isOf: "player-2")
            try await subject.enter([try Subject.told("1000")])
            try await hold("1000", offset: 1, in: subject)
            // Purchase 1001 is held before Apple announces it.
            try await hold("1001", offset: 2, in: subject)
            try await subject.enter([try Subject.told("1001")])
            try await subject.endPatience()
            #expect(try await subject.deliver() == [])
            try await end("1000", for: .subscriptionExpired, in: subject)
            try await end("1001", for: .subscriptionExpired, in: subject)
            let events = try await subject.events()
            #expect(events.map(\.kind) == [.granted, .granted] && Set(events.map(\.playerID)) == ["player-2"])
            #expect(try await subject.deliver(under: Subject.catalog(version: 2)) == [])
        }
    }

    @Test(
        "if an announced period of an unknown product has expired, it is held in the grace period, refused afterwards",
        arguments: Implementation.allCases)
    func inGrace(implementation: Implementation) async throws {
        try await Subject.with(implementation) { subject in
            _ = try await subject.submit("5000", product: "pass", kind: .autoRenewableSubscription, offset: 1)
            func told(_ id: String, grace: Int64) throws -> AnnouncedPurchase {
                var period = try Subject.told(id, original: "5000") {
                    $0 = Sample.purchase(
                        id, original: "5000", product: "new-pass", expires: Sample.noon.adding(milliseconds: -1_000))
                }
                period.graceExpiresAt = Sample.noon.adding(milliseconds: grace)
                return period
            }
            try await subject.enter([try told("5001", grace: 60_000), try told("5002", grace: -1)])
            #expect(try await subject.deliver() == ["held unknown_product", "refused subscription_expired"])
            let hold = try #require(try await subject.holds.leaseDue(catalogVersion: 2, limit: 5).first)
            #expect(hold.transactionID == "5001" && hold.announced?.isInGrace == true)
            let catalog = Subject.catalog(version: 2) {
                $0.products["new-pass"] = Product(id: "new-pass", kind: .autoRenewableSubscription)
            }
            #expect(hold.outlook(under: catalog, now: Sample.noon.adding(milliseconds: 3_600_000)) == .mayEnd)
        }
    }

    @Test(
        "if the hold of the player whom the token names ends without a grant, the announced purchase is held again",
        arguments: Implementation.allCases)
    func own(implementation: Implementation) async throws {
        try await Subject.with(implementation) { subject in
            try await subject.setGrantsSince(Sample.noon)
            try await subject.tell(isOf: Subject.player)
            try await subject.enter([
                try Subject.told("1000") {
                    $0 = Sample.purchase("1000", product: "silver")
                    $0.appAccountToken = Subject.token
                }
            ])
            try await subject.endPatience()
            #expect(try await subject.deliver() == ["held unknown_product"])
            try await end("1000", for: .productMismatch, in: subject)
            // The purchase is held again, so that an operator or another catalog can decide it.
            let again = try #require(try await subject.events().first)
            #expect(again.eventID == OutcomeEvent.eventID(.held, transaction: "1000", timesHeld: 1))
            #expect(try await subject.deliver() == [])
        }
    }

    @Test(
        "if a hold ends as cancelled, upgraded or family_shared, the token's player does not get the purchase",
        arguments: Implementation.allCases,
        [Reason.cancelled, .upgraded, .familyShared])
    func ended(implementation: Implementation, reason: Reason) async throws {
        try await Subject.with(implementation) { subject in
            try await subject.setGrantsSince(Sample.noon)
            try await subject.tell(isOf: "player-2")
            try await subject.enter([try Subject.told("1000")])
            try await hold("1000", offset: 1, in: subject)
            try await subject.endPatience()
            try await end("1000", for: reason, in: subject)
            #expect(try await subject.deliver(under: Subject.catalog(version: 2)) == [])
        }
    }

    @Test(
        "if Apple announces a copy of another player's non-consumable, the copy is held, and rejected on release",
        arguments: Implementation.allCases)
    func disputed(implementation: Implementation) async throws {
        try await Subject.with(implementation) { subject in
            try await subject.setGrantsSince(Sample.noon)
            let owned = try await subject.submit(
                "9001", original: "9000", product: "skin", kind: .nonConsumable, offset: 1)
            #expect(owned.granted.count == 1)
            try await subject.tell(isOf: "player-2")
            try await subject.enter(
                [
                    try Subject.told("9002", original: "9000") {
                        $0 = Sample.purchase("9002", original: "9000", product: "skin")
                        $0.appAccountToken = Subject.token
                    }
                ].map {
                    var copy = $0
                    copy.isRenewal = false
                    return copy
                })
            try await subject.endPatience()
            #expect(try await subject.deliver() == ["held ownership_disputed"])
            try await subject.release("9002")
            let hold = try #require(try await subject.holds.leaseDue(catalogVersion: 1, limit: 5).first)
            let judged = Sample.judged(Sample.purchase("9002", original: "9000", product: "skin"), .nonConsumable)
            let event = try await subject.holds.settle(
                HoldDecision(
                    hold, verdict: .each([judged]), environment: .production, decidedAt: Sample.noon,
                    catalogVersion: 1))
            #expect(event?.kind == .rejected && event?.reason == .ownedByOtherPlayer)
            // An operator has ended the hold, so a newer catalog does not deliver the purchase again.
            #expect(try await subject.deliver(under: Subject.catalog(version: 2)) == [])
        }
    }
}
