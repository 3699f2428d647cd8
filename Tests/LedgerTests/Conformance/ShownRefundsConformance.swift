import Fulfillment
import Ledger
import NamesAndTimes
import TestSupport
import Testing

@Suite("Stores in memory and in PostgreSQL: announced purchases whose refund a submission shows")
struct ShownRefundsConformance {
    private typealias Subject = AnnouncedSubject

    private static let refundedAt = Sample.noon.adding(milliseconds: 60_000)

    /// Records another player's submission, to which Apple's answer shows the refund.
    private func show(
        _ id: String, at time: Timestamp = refundedAt, share: Int32? = nil, offset: Int64 = 1, in subject: Subject
    ) async throws {
        var purchase = Sample.purchase(id)
        purchase.cancelledAt = time
        purchase.refundedMilliPercent = share
        let judged = Sample.judged(purchase, .consumable, .reject(.cancelled))
        _ = try await subject.ledger.record(Sample.decision([judged], player: "player-2", offset: offset))
    }

    @Test(
        "an announced purchase is refused if a submission shows its full refund; a partial refund revokes units",
        arguments: Implementation.allCases)
    func shown(implementation: Implementation) async throws {
        try await Subject.with(implementation) { subject in
            try await subject.setGrantsSince(Sample.noon)
            try await subject.tell(isOf: Subject.player)
            try await subject.enter([
                try Subject.told("1000"), try Subject.told("1001") { $0.quantity = 4 }, try Subject.told("1002"),
            ])
            try await show("1000", in: subject)
            try await show("1001", share: 50_000, offset: 2, in: subject)
            // Apple signed the announcement after this refund, so the refund was reversed before.
            try await show("1002", at: Sample.noon.adding(milliseconds: -1), offset: 3, in: subject)
            try await subject.endPatience()
            let leased = try await subject.announced.leaseDue(under: Subject.catalog(), limit: 50)
            let outcomes = try await subject.announced.deliver(leased, under: Subject.catalog(), at: Sample.noon)
                .sorted { $0.transactionID < $1.transactionID }
            #expect(outcomes.map(\.inWords) == ["refused cancelled", "granted", "granted"])
            #expect(outcomes.flatMap(\.owned).map(\.kind) == [.granted, .revoked, .granted])
        }
    }

    @Test(
        "if a submission shows the refund of a held announced purchase, an earlier lease of the hold settles nothing",
        arguments: Implementation.allCases)
    func held(implementation: Implementation) async throws {
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
            try await subject.release("1000")
            let stale = try #require(try await subject.holds.leaseDue(catalogVersion: 1, limit: 5).first)
            try await show("1000", in: subject)
            func settle(_ hold: LeasedHold, _ verdict: JudgedPurchase.Verdict) async throws -> OutcomeEvent? {
                let judged = Sample.judged(Sample.purchase("1000", product: "silver"), .consumable, verdict)
                return try await subject.holds.settle(
                    HoldDecision(
                        hold, verdict: .each([judged]), environment: .production, decidedAt: Sample.noon,
                        catalogVersion: 1))
            }
            #expect(try await settle(stale, .grant(payload: nil)) == nil)
            let hold = try #require(try await subject.holds.leaseDue(catalogVersion: 1, limit: 5).first)
            #expect(hold.evidence?.purchases.first?.cancelledAt == Self.refundedAt)
            #expect(try await settle(hold, .reject(.cancelled))?.reason == .cancelled)
            #expect(try await subject.deliver() == [])
        }
    }

    @Test(
        "if a refund is shown while an announced purchase is delivered, nothing is granted until Apple answers",
        arguments: Implementation.allCases)
    func leased(implementation: Implementation) async throws {
        try await Subject.with(implementation) { subject in
            let asking = Subject.catalog {
                $0.serverAPI = ServerAPICredentials(issuerID: "i", keyID: "k", privateKeySetting: "S")
            }
            try await subject.setGrantsSince(Sample.noon)
            try await subject.tell(isOf: Subject.player)
            try await subject.enter([try Subject.told("1000"), try Subject.told("1001")])
            try await subject.endPatience()
            let stale = try await subject.announced.leaseDue(under: asking, limit: 50)
            try await show("1000", in: subject)
            try await show("1001", offset: 2, in: subject)
            #expect(try await subject.announced.deliver(stale, under: asking, at: Sample.noon).isEmpty)
            let leased = try await subject.announced.leaseDue(under: asking, limit: 50)
            #expect(try await subject.announced.deliver(leased, under: asking, at: Sample.noon).isEmpty)
            let reversed = NotifiedTransaction(
                purchase: try Subject.told("1000").purchase, kind: .consumable, bundleID: Sample.bundle,
                environment: .production)
            let asked = leased.map { $0.told(reversed) }
            let outcomes = try await subject.announced.deliver(asked, under: asking, at: Sample.noon)
                .sorted { $0.transactionID < $1.transactionID }
            #expect(outcomes.map(\.inWords) == ["granted", "refused cancelled"])
        }
    }
}
