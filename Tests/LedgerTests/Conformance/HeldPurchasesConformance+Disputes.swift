import Fulfillment
import NamesAndTimes
import TestSupport
import Testing

@testable import Ledger

/// Tests rules that every store of holds keeps when a player has the token of a purchase that is held for another
/// player.
extension HeldPurchasesConformance {
    private static let token = "6e3b2f50-0c1d-4a5e-9f70-112233445566"
    /// The period's charge ids: nil for a purchase that is no period, otherwise Apple's `webOrderLineItemId`.
    private static let periods: [String?] = [nil, "1"]
    private static let first: PlayerID = "player-1"
    private static let second: PlayerID = "player-2"

    /// Returns a purchase, which is a period if `charged` is given.
    private static func purchase(_ id: String = "1000", charged: String? = nil) -> StorePurchase {
        let end = Sample.noon.adding(milliseconds: AnnouncedSubject.period)
        var purchase = Sample.purchase(
            id, original: charged == nil ? nil : "900", product: charged == nil ? "gold" : "pass",
            expires: charged == nil ? nil : end)
        purchase.appAccountToken = token
        purchase.webOrderLineItemID = charged.map { Identifier($0) }
        return purchase
    }

    /// Submits the purchase, and returns the outcome in words such as `held ownership_disputed`.
    private func submit(
        _ purchase: StorePurchase, _ player: PlayerID, token: String?, offset: Int64,
        verdict: JudgedPurchase.Verdict = .hold(.retiredProduct), to subject: Subject
    ) async throws -> String {
        let outcome = try await subject.ledger.record(
            Sample.decision(
                Self.verdict(verdict, on: purchase), player: player.text, offset: offset, submission: "s-\(offset)",
                token: token))
        return Self.words(try #require(outcome.events.last))
    }

    private static func verdict(_ verdict: JudgedPurchase.Verdict, on purchase: StorePurchase) -> Verdict {
        let kind: ProductKind = purchase.expiresAt == nil ? .consumable : .autoRenewableSubscription
        return .each([Sample.judged(purchase, kind, verdict)])
    }

    private static func words(_ event: OutcomeEvent) -> String {
        [event.kind.rawValue, event.reason?.rawValue].compactMap(\.self).joined(separator: " ")
    }

    /// Holds the purchase for the first player, who has no token, and for the second player, who has the token.
    private func hold(_ purchase: StorePurchase, in subject: Subject) async throws {
        #expect(
            try await submit(purchase, Self.first, token: nil, offset: 1, to: subject)
                == "receipt.held retired_product")
        #expect(
            try await submit(purchase, Self.second, token: Self.token, offset: 2, to: subject)
                == "receipt.held ownership_disputed")
    }

    private func end(
        _ purchase: StorePurchase, of player: PlayerID, _ verdict: JudgedPurchase.Verdict = .grant(payload: nil),
        in subject: Subject
    ) async throws -> String? {
        try await subject.release(purchase.transactionID, of: player)
        let taken = try await subject.take()
        #expect(taken.map(\.submission.playerID) == [player])
        let hold = try #require(taken.first)
        return try await subject.holds.settle(
            HoldDecision(
                hold, verdict: Self.verdict(verdict, on: purchase), environment: .production, decidedAt: Sample.noon,
                catalogVersion: 1)
        ).map(Self.words)
    }

    @Test(
        "a second player who has the purchase's token gets a disputed hold, and the two holds have separate leases",
        arguments: Implementation.allCases)
    func disputed(implementation: Implementation) async throws {
        try await with(implementation) { subject in
            try await hold(Self.purchase(), in: subject)
            // A further submission of either player changes neither hold.
            #expect(
                try await submit(Self.purchase(), Self.second, token: Self.token, offset: 3, to: subject)
                    == "receipt.held ownership_disputed")
            #expect(
                try await submit(Self.purchase(), Self.first, token: nil, offset: 4, to: subject)
                    == "receipt.held retired_product")
            let taken = try await subject.take(catalogVersion: 2)
            #expect(
                Set(
                    taken.map {
                        "\($0.submission.playerID.text) \($0.reason.rawValue) \($0.submission.submissionID.text)"
                    })
                    == ["player-1 retired_product s-1", "player-2 ownership_disputed s-2"])
            let dispute = try #require(taken.first { $0.submission.playerID == Self.second })
            let claiming = try #require(taken.first { $0.submission.playerID == Self.first })
            try await subject.holds.reschedule(dispute, dueAfterSeconds: 0)
            #expect(try await subject.take().map(\.submission.playerID) == [Self.second])
            try await subject.holds.endLease(of: claiming)
            #expect(try await subject.take(catalogVersion: 2).map(\.submission.playerID) == [Self.first])
        }
    }

    @Test(
        "a second player of a held purchase is rejected, unless only the second player has the purchase's token",
        arguments: Implementation.allCases)
    func notDisputed(implementation: Implementation) async throws {
        try await with(implementation) { subject in
            let tokens: [(id: String, own: String?, other: String?)] = [
                ("1", nil, nil), ("2", Self.token, Self.token), ("3", Self.token, nil),
            ]
            for (id, own, other) in tokens {
                let offset = 10 * (Int64(id) ?? 0)
                let purchase = Self.purchase(id)
                let held = try await submit(purchase, Self.first, token: own, offset: offset, to: subject)
                #expect(held == "receipt.held retired_product")
                let other = try await submit(purchase, Self.second, token: other, offset: offset + 1, to: subject)
                #expect(other == "receipt.rejected owned_by_other_player")
            }
            let taken = try await subject.take(catalogVersion: 2)
            #expect(taken.count == 3 && taken.allSatisfy { $0.submission.playerID == Self.first })
        }
    }

    @Test(
        "if the first player's hold ends with a grant, a later release of the disputed hold ends with a rejection",
        arguments: Implementation.allCases, periods)
    func firstWins(implementation: Implementation, charged: String?) async throws {
        try await with(implementation) { subject in
            let purchase = Self.purchase(charged: charged)
            try await hold(purchase, in: subject)
            #expect(try await end(purchase, of: Self.first, in: subject) == "receipt.granted")
            #expect(try await subject.take(catalogVersion: 2).map(\.reason) == [.ownershipDisputed])
            #expect(
                try await end(purchase, of: Self.second, in: subject) == "receipt.rejected owned_by_other_player")
            #expect(try await subject.take(catalogVersion: 2).isEmpty)
        }
    }

    @Test(
        "if an operator releases a disputed hold first, it is rejected; the first player's hold is granted on release",
        arguments: Implementation.allCases, periods)
    func heldByFirst(implementation: Implementation, charged: String?) async throws {
        try await with(implementation) { subject in
            let purchase = Self.purchase(charged: charged)
            try await hold(purchase, in: subject)
            #expect(
                try await end(purchase, of: Self.second, in: subject) == "receipt.rejected owned_by_other_player")
            // The rejection frees neither the transaction nor its period.
            #expect(
                try await submit(purchase, "player-3", token: nil, offset: 3, to: subject)
                    == "receipt.rejected owned_by_other_player")
            #expect(try await end(purchase, of: Self.first, in: subject) == "receipt.granted")
        }
    }

    @Test(
        "if the first player's hold is rejected, the disputed hold ends with a grant when an operator releases it",
        arguments: Implementation.allCases, periods)
    func secondWins(implementation: Implementation, charged: String?) async throws {
        try await with(implementation) { subject in
            let purchase = Self.purchase(charged: charged)
            try await hold(purchase, in: subject)
            let refusal = JudgedPurchase.Verdict.reject(.productMismatch)
            #expect(
                try await end(purchase, of: Self.first, refusal, in: subject) == "receipt.rejected product_mismatch")
            #expect(try await end(purchase, of: Self.second, in: subject) == "receipt.granted")
            #expect(
                try await submit(
                    purchase, Self.first, token: nil, offset: 3, verdict: .grant(payload: nil), to: subject)
                    == "receipt.rejected owned_by_other_player")
        }
    }

    @Test(
        "if two released holds of one purchase are settled concurrently, one ends with a grant, one with a rejection",
        arguments: Implementation.allCases)
    func atOnce(implementation: Implementation) async throws {
        try await with(implementation) { subject in
            let purchase = Self.purchase()
            try await hold(purchase, in: subject)
            try await subject.release(purchase.transactionID)
            let taken = try await subject.take()
            #expect(taken.count == 2)
            let holds = subject.holds
            let kinds = try await withThrowingTaskGroup(of: OutcomeEvent.Kind?.self) { group in
                for hold in taken {
                    let decision = HoldDecision(
                        hold, verdict: .each([Sample.judged(purchase)]), environment: .production,
                        decidedAt: Sample.noon, catalogVersion: 1)
                    group.addTask { try await holds.settle(decision)?.kind }
                }
                return try await group.reduce(into: [OutcomeEvent.Kind?]()) { $0.append($1) }
            }
            #expect(Set(kinds) == [.granted, .rejected])
            #expect(try await subject.take(catalogVersion: 2).isEmpty)
        }
    }

    @Test(
        "if Apple cancelled a purchase with two holds, both holds end with a rejection when an operator releases them",
        arguments: Implementation.allCases)
    func refunded(implementation: Implementation) async throws {
        try await with(implementation) { subject in
            let purchase = Self.purchase()
            try await hold(purchase, in: subject)
            let cancelled = JudgedPurchase.Verdict.reject(.cancelled)
            #expect(try await end(purchase, of: Self.first, cancelled, in: subject) == "receipt.rejected cancelled")
            #expect(try await end(purchase, of: Self.second, cancelled, in: subject) == "receipt.rejected cancelled")
            #expect(try await subject.take(catalogVersion: 2).isEmpty)
        }
    }

    @Test(
        "if the first player's hold is rejected, a third player gets a hold beside the second player's disputed hold",
        arguments: Implementation.allCases)
    func disputeFirst(implementation: Implementation) async throws {
        try await with(implementation) { subject in
            let purchase = Self.purchase()
            try await hold(purchase, in: subject)
            let refusal = JudgedPurchase.Verdict.reject(.productMismatch)
            _ = try await end(purchase, of: Self.first, refusal, in: subject)
            #expect(
                try await submit(purchase, "player-3", token: nil, offset: 3, to: subject)
                    == "receipt.held retired_product")
            let taken = try await subject.take(catalogVersion: 2)
            #expect(Set(taken.map(\.submission.playerID)) == [Self.second, "player-3"])
        }
    }
}
