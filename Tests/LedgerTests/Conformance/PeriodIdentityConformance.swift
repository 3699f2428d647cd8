import Fulfillment
import NamesAndTimes
import TestSupport
import Testing

@testable import Ledger

@Suite("Ledgers in memory and in PostgreSQL: periods with several transaction ids")
struct PeriodIdentityConformance {
    typealias Subject = AnnouncedSubject

    private static let end = Sample.noon.adding(milliseconds: Subject.period)

    /// Returns a transaction of the period.
    /// - Parameters:
    ///   - charged: Apple's `webOrderLineItemId`; nil if Apple gives none.
    ///   - previous: the original transaction of the subscription that this subscription continues; nil for none.
    static func purchase(
        _ id: String, original: String, charged: String? = "777", previous: String? = nil, product: String = "pass"
    ) -> StorePurchase {
        var purchase = Sample.purchase(id, original: original, product: product, expires: end)
        purchase.webOrderLineItemID = charged.map { Identifier($0) }
        purchase.previousOriginalTransactionID = previous.map { Identifier($0) }
        return purchase
    }

    static func judged(
        _ id: String, original: String, charged: String? = "777", previous: String? = nil,
        _ verdict: JudgedPurchase.Verdict = .grant(payload: nil)
    ) -> JudgedPurchase {
        Sample.judged(
            purchase(id, original: original, charged: charged, previous: previous), .autoRenewableSubscription, verdict)
    }

    static func decision(
        _ judged: JudgedPurchase..., player: String = "player-1", token: String? = nil,
        environment: StoreEnvironment = .production, bundle: BundleID = Sample.bundle, offset: Int64
    ) -> PendingDecision {
        let submission = Submission(
            submissionID: Identifier("s-\(offset)"), playerID: Identifier(player), bundleID: bundle,
            proof: .receipt("MIIB"), appAccountToken: token)
        return PendingDecision(
            submission: submission, position: Sample.position(offset), proof: Sample.digest("proof \(offset)"),
            verdict: .each(judged), environment: environment, evidence: nil, decidedAt: Sample.noon, catalogVersion: 1,
            traceparent: nil)
    }

    static func notice(
        _ change: RefundNotice.Change, of purchase: StorePurchase, after seconds: Int64 = 0
    ) -> ReceivedNotice {
        let signedAt = Sample.noon.adding(milliseconds: 1000 * seconds)
        let id = Identifier("\(purchase.transactionID.text) \(seconds)")
        let refund = RefundNotice(
            id: id, change: change, signedAt: signedAt,
            transaction: NotifiedTransaction(
                purchase: purchase, kind: .autoRenewableSubscription, bundleID: Sample.bundle, environment: .production)
        )
        return ReceivedNotice(
            StoreNotice(refund, type: "REFUND", id: id), topic: "app-store-notifications", partition: 0,
            traceparent: nil, decidedAt: Sample.noon)
    }

    func apply(_ notices: ReceivedNotice..., in subject: Subject) async throws -> [String] {
        try await subject.refunds.apply(notices, catalog: Subject.catalog()).value.effects.map {
            if case .applied(let effect) = $0 { effect.name } else { "refused" }
        }
    }

    @Test(
        "a period is granted once and to one player, whichever of its original transactions is submitted first",
        arguments: Implementation.allCases, [true, false])
    func once(implementation: Implementation, isSuccessorFirst: Bool) async throws {
        try await Subject.with(implementation) { subject in
            let before = Self.judged("5001", original: "5000")
            let after = Self.judged("6000", original: "6000", previous: "5000")
            let (first, second) = isSuccessorFirst ? (after, before) : (before, after)
            let granted = try await subject.ledger.record(Self.decision(first, offset: 1))
            #expect(granted.granted.map(\.subject) == [first.purchase.transactionID])
            let other = try await subject.ledger.record(Self.decision(second, player: "player-2", offset: 2))
            #expect(other.events.map(\.kind) == [.rejected] && other.reason == .ownedByOtherPlayer)
            let own = try await subject.ledger.record(Self.decision(second, offset: 3))
            #expect(own.events.map(\.kind) == [.rejected] && own.reason == .alreadyGranted)
        }
    }

    @Test(
        "if a submission has two transaction ids of one period, the period is granted once, also after a redelivery",
        arguments: Implementation.allCases)
    func together(implementation: Implementation) async throws {
        try await Subject.with(implementation) { subject in
            let both = Self.decision(
                Self.judged("5001", original: "5000"), Self.judged("6000", original: "6000"), offset: 1)
            let outcome = try await subject.ledger.record(both)
            #expect(outcome.granted.map(\.subject) == ["5001"])
            // The same decision, recorded again, has the same outcome for its submission.
            #expect(try await subject.ledger.record(both) == outcome)
        }
    }

    @Test(
        "without charge ids, a subscription and its successor share a period if the product and the times are equal",
        arguments: Implementation.allCases)
    func byTimes(implementation: Implementation) async throws {
        try await Subject.with(implementation) { subject in
            let first = Self.decision(
                Self.judged("6000", original: "6000", charged: nil, previous: "5000"), offset: 1)
            let successor = try await subject.ledger.record(first)
            #expect(successor.granted.count == 1)
            let second = Self.decision(
                Self.judged("5001", original: "5000", charged: nil), player: "player-2", offset: 2)
            #expect(try await subject.ledger.record(second).reason == .ownedByOtherPlayer)
            // The stranger bought in the same millisecond. The original transaction 7000 has no owner, and continues no
            // other subscription.
            let stranger = Self.decision(
                Self.judged("7000", original: "7000", charged: nil), player: "player-2", offset: 3)
            #expect(try await subject.ledger.record(stranger).granted.count == 1)
            // Transaction 8000 has a charge id and 7000 has none, so the times identify the period.
            let told = Self.decision(
                Self.judged("8000", original: "8000", charged: "888", previous: "7000"), player: "player-2", offset: 4)
            #expect(try await subject.ledger.record(told).reason == .alreadyGranted)
        }
    }

    @Test(
        "transactions with a different charge, app or environment are different periods; consumables have no period",
        arguments: Implementation.allCases)
    func others(implementation: Implementation) async throws {
        try await Subject.with(implementation) { subject in
            var number: Int64 = 0
            func granted(_ decision: PendingDecision) async throws -> Int {
                try await subject.ledger.record(decision).granted.count
            }
            func next() -> (id: String, offset: Int64) {
                number += 1
                return ("\(9000 + number)", number)
            }
            for (bundle, environment, charged) in [
                (Sample.bundle, .production, "777"), (Sample.bundle, .production, "778"),
                (Sample.bundle, .sandbox, "777"), ("com.example.other", .production, "777"),
            ] as [(BundleID, StoreEnvironment, String)] {
                let (id, offset) = next()
                let decision = Self.decision(
                    Self.judged(id, original: id, charged: charged), environment: environment, bundle: bundle,
                    offset: offset)
                let count = try await granted(decision)
                #expect(count == 1)
            }
            for _ in 0..<2 {
                let (id, offset) = next()
                let gold = Sample.judged(Self.purchase(id, original: id, product: "gold"), .consumable)
                #expect(try await granted(Self.decision(gold, offset: offset)) == 1)
            }
        }
    }

    @Test(
        "if another player submits a granted period's second id and its token, the id is held as ownership_disputed",
        arguments: Implementation.allCases)
    func disputed(implementation: Implementation) async throws {
        try await Subject.with(implementation) { subject in
            _ = try await subject.ledger.record(Self.decision(Self.judged("5001", original: "5000"), offset: 1))
            var told = Self.purchase("6000", original: "6000")
            told.appAccountToken = Subject.token
            let disputed = try await subject.ledger.record(
                Self.decision(
                    Sample.judged(told, .autoRenewableSubscription), player: "player-2", token: Subject.token, offset: 2
                ))
            #expect(disputed.events.map(\.kind) == [.held] && disputed.reason == .ownershipDisputed)
        }
    }

    @Test(
        "if Apple refunds a period under a second id, the period's grant is revoked; the reversal reinstates the grant",
        arguments: Implementation.allCases)
    func refunded(implementation: Implementation) async throws {
        try await Subject.with(implementation) { subject in
            let granted = Self.judged("5001", original: "5000")
            let other = Self.purchase("6000", original: "6000", previous: "5000")
            _ = try await subject.ledger.record(Self.decision(granted, offset: 1))
            #expect(
                try await apply(Self.notice(.revoked(.refund, at: Sample.noon), of: other), in: subject) == ["revoked"])
            // Both ids show the same refund, which takes effect once.
            let same = Self.notice(.revoked(.refund, at: Sample.noon), of: granted.purchase, after: 1)
            #expect(try await apply(same, in: subject) == ["remembered"])
            for (offset, judged) in [granted, Self.judged("6000", original: "6000")].enumerated() {
                let again = try await subject.ledger.record(Self.decision(judged, offset: Int64(2 + offset)))
                #expect(again.reason == .cancelled)
            }
            #expect(try await apply(Self.notice(.reversed, of: other, after: 2), in: subject) == ["reinstated"])
            let again = try await subject.ledger.record(Self.decision(granted, offset: 4))
            #expect(again.reason == .alreadyGranted)
        }
    }

    @Test(
        "if Apple refunds a period under a second id, no player is granted the period before Apple's reversal",
        arguments: Implementation.allCases)
    func refundedBefore(implementation: Implementation) async throws {
        try await Subject.with(implementation) { subject in
            let other = Self.purchase("6000", original: "6000")
            let refund = Self.notice(.revoked(.refund, at: Sample.noon), of: other)
            let effects = try await apply(refund, in: subject)
            #expect(effects == ["remembered"])
            let judged = Self.judged("5001", original: "5000")
            #expect(try await subject.ledger.record(Self.decision(judged, offset: 1)).reason == .cancelled)
            #expect(
                try await apply(Self.notice(.reversed, of: judged.purchase, after: 1), in: subject) == ["remembered"])
            #expect(try await subject.ledger.record(Self.decision(judged, offset: 2)).granted.count == 1)
        }
    }

    @Test(
        "in PostgreSQL, if Apple's answer shows a revocation under a second id, the period's grant is revoked",
        arguments: Implementation.allCases)
    func shown(implementation: Implementation) async throws {
        guard implementation == .postgres else { return }
        try await Subject.with(implementation) { subject in
            _ = try await subject.ledger.record(Self.decision(Self.judged("5001", original: "5000"), offset: 1))
            var taken = Self.purchase("6000", original: "6000")
            taken.cancelledAt = Sample.noon
            let shown = try await subject.ledger.record(
                Self.decision(Sample.judged(taken, .autoRenewableSubscription, .reject(.cancelled)), offset: 2))
            #expect(shown.events.map(\.kind) == [.revoked, .rejected])
            #expect(shown.events.first?.subject == "5001")
        }
    }

    @Test(
        "a hold claims its period under every transaction id; a rejection frees the period for another player",
        arguments: Implementation.allCases)
    func held(implementation: Implementation) async throws {
        try await Subject.with(implementation) { subject in
            let held = Self.decision(Self.judged("5001", original: "5000", .hold(.retiredProduct)), offset: 1)
            #expect(try await subject.ledger.record(held).events.map(\.kind) == [.held])
            let other = Self.judged("6000", original: "6000")
            let stranger = Self.decision(other, player: "player-2", offset: 2)
            #expect(try await subject.ledger.record(stranger).reason == .ownedByOtherPlayer)
            let own = try await subject.ledger.record(Self.decision(other, offset: 3))
            #expect(own.events.map(\.kind) == [.held] && own.reason == .retiredProduct)
            // The rules now reject the hold. The rejection frees the period.
            try await settle("5001", .reject(.cancelled), in: subject)
            let granted = Self.decision(other, player: "player-2", offset: 4)
            #expect(try await subject.ledger.record(granted).granted.count == 1)
        }
        try await Subject.with(implementation) { subject in
            let held = Self.decision(Self.judged("5001", original: "5000", .hold(.retiredProduct)), offset: 1)
            _ = try await subject.ledger.record(held)
            let event = try await settle("5001", .grant(payload: nil), in: subject)
            #expect(event?.kind == .granted)
            let other = Self.decision(Self.judged("6000", original: "6000"), player: "player-2", offset: 2)
            #expect(try await subject.ledger.record(other).reason == .ownedByOtherPlayer)
        }
    }

    @discardableResult
    func settle(
        _ id: String, _ verdict: JudgedPurchase.Verdict, in subject: Subject
    ) async throws -> OutcomeEvent? {
        try await subject.release(StoreTransactionID(id))
        let hold = try #require(try await subject.holds.leaseDue(catalogVersion: 1, limit: 1).first)
        return try await subject.holds.settle(
            HoldDecision(
                hold, verdict: .each([Self.judged(id, original: "5000", verdict)]), environment: .production,
                decidedAt: Sample.noon, catalogVersion: 1))
    }

    @Test(
        "if a period is granted under a different id, the announced purchase is refused as already granted",
        arguments: Implementation.allCases)
    func announced(implementation: Implementation) async throws {
        try await Subject.with(implementation) { subject in
            _ = try await subject.ledger.record(Self.decision(Self.judged("5001", original: "5000"), offset: 1))
            var told = try Subject.told("6000", original: "6000", token: nil) {
                $0 = Self.purchase("6000", original: "6000", previous: "5000")
            }
            told.previousOriginalTransactionID = "5000"
            try await subject.enter([told])
            #expect(try await subject.deliver() == ["refused already_granted"])
        }
    }
}
