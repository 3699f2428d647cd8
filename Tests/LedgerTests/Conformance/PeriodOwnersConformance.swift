import Fulfillment
import NamesAndTimes
import TestSupport
import Testing

@testable import Ledger

@Suite("Ledgers in memory and in PostgreSQL: subscriptions that share a period")
struct PeriodOwnersConformance {
    private static func judged(_ id: String, of original: String, charged: String) -> JudgedPurchase {
        let end = Sample.noon.adding(milliseconds: AnnouncedSubject.period + (Int64(id) ?? 0))
        var purchase = Sample.purchase(id, original: original, product: "pass", expires: end)
        purchase.webOrderLineItemID = Identifier(charged)
        return Sample.judged(purchase, .autoRenewableSubscription)
    }

    private static func period(_ id: String, charged: String) -> JudgedPurchase {
        judged(id, of: "5000", charged: charged)
    }

    private static func later(_ id: String, charged: String) -> JudgedPurchase {
        judged(id, of: "6000", charged: charged)
    }

    @Test(
        "if two subscriptions share a period in Apple's answer, only the player who owns one of them gets periods",
        arguments: Implementation.allCases)
    func inOneAnswer(implementation: Implementation) async throws {
        try await AnnouncedSubject.with(implementation) { subject in
            let ledger = subject.ledger
            _ = try await ledger.record(Sample.decision([Self.period("5001", charged: "1")], offset: 1))
            // Both subscriptions show the period with charge id 2, which has no owner yet.
            let all = [
                Self.period("5001", charged: "1"), Self.period("5002", charged: "2"), Self.later("6000", charged: "2"),
                Self.later("6001", charged: "3"),
            ]
            let refused = try await ledger.record(Sample.decision(all, player: "player-2", offset: 2))
            #expect(refused.granted.isEmpty && refused.reason == .ownedByOtherPlayer)
            let alone = try await ledger.record(Sample.decision([all[3]], player: "player-2", offset: 3))
            #expect(alone.reason == .ownedByOtherPlayer)
            let owned = try await ledger.record(Sample.decision(all, offset: 4))
            #expect(owned.granted.count == 2)
        }
    }

    @Test(
        "if a held subscription shares a period with a second one, its player does not become the second's owner",
        arguments: Implementation.allCases)
    func held(implementation: Implementation) async throws {
        try await AnnouncedSubject.with(implementation) { subject in
            let ledger = subject.ledger
            var held = Self.period("5001", charged: "1")
            held = Sample.judged(held.purchase, .autoRenewableSubscription, .hold(.retiredProduct))
            #expect(try await ledger.record(Sample.decision([held], offset: 1)).events.map(\.kind) == [.held])
            let shown = [held, Self.period("5002", charged: "2"), Self.later("6000", charged: "2")]
            let refused = try await ledger.record(
                Sample.decision(Array(shown.dropFirst()), player: "player-2", offset: 2))
            #expect(refused.granted.map(\.subject) == ["6000"])
            try await subject.release("5001")
            let hold = try #require(try await subject.holds.leaseDue(catalogVersion: 1, limit: 1).first)
            let rejected = Sample.judged(held.purchase, .autoRenewableSubscription, .reject(.cancelled))
            _ = try await subject.holds.settle(
                HoldDecision(
                    hold, verdict: .each([rejected]), environment: .production, decidedAt: Sample.noon,
                    catalogVersion: 1))
            let later = [Self.later("6001", charged: "3")]
            let granted = try await ledger.record(Sample.decision(later, player: "player-2", offset: 3))
            #expect(granted.granted.count == 1)
        }
    }
}
