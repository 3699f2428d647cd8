import Fulfillment
import Ledger
import NamesAndTimes
import TestSupport
import Testing

/// The account's history has purchases that the receipt lacks.
@Suite("Ledgers in memory and in PostgreSQL: purchases from an account's history")
struct AccountHistoryConformance {
    private static func fromHistory(
        _ id: String, _ verdict: JudgedPurchase.Verdict = .grant(payload: nil)
    ) -> JudgedPurchase {
        var judged = Sample.judged(Sample.purchase(id), .consumable, verdict)
        judged.origin = .history
        return judged
    }

    @Test(
        "the ledger grants purchases from an Apple account's history only to the owner of the receipt's purchase",
        arguments: Implementation.allCases)
    func otherPlayers(implementation: Implementation) async throws {
        try await implementation.withLedger { ledger in
            for (number, taken) in [JudgedPurchase.Verdict.grant(payload: nil), .hold(.unknownProduct)].enumerated() {
                let (old, free, offset) = (Sample.purchase("10\(number)"), "20\(number)", Int64(100 * number))
                let first = Sample.judged(old, .consumable, taken)
                _ = try await ledger.record(Sample.decision([first], player: "victim", offset: offset))
                for (place, verdict) in Self.verdicts.enumerated() {
                    let claim = [
                        Sample.judged(old, .consumable, verdict), Sample.judged(Sample.purchase(free)),
                        Self.fromHistory("30\(number)"),
                    ]
                    let answer = try await ledger.record(
                        Sample.decision(claim, player: "thief", offset: offset + Int64(place) + 1))
                    #expect(answer.events.map(\.reason) == [.ownedByOtherPlayer])
                }
                let claim = [Sample.judged(old), Self.fromHistory("30\(number)")]
                let own = try await ledger.record(Sample.decision(claim, player: "victim", offset: offset + 50))
                #expect(own.granted.map(\.subject.text) == ["30\(number)"])
            }
        }
    }

    @Test(
        "if Apple's answer lists purchases that the receipt lacks, only the owner of the receipt's purchases gets them",
        arguments: Implementation.allCases)
    func listedLater(implementation: Implementation) async throws {
        try await implementation.withLedger { ledger in
            let old = Sample.purchase("1000")
            _ = try await ledger.record(Sample.decision([Sample.judged(old)], player: "victim", offset: 1))
            func listed(_ id: String, _ verdict: JudgedPurchase.Verdict = .grant(payload: nil)) -> JudgedPurchase {
                var judged = Sample.judged(Sample.purchase(id), .consumable, verdict)
                judged.origin = .latest
                return judged
            }
            // The thief gets 1001, which the receipt itself contains, because two players may share the device.
            let stolen = [
                Sample.judged(old), Sample.judged(Sample.purchase("1001")), listed("1002"),
                listed("1003", .hold(.unknownProduct)),
            ]
            let thief = try await ledger.record(Sample.decision(stolen, player: "thief", offset: 2))
            #expect(thief.granted.map(\.subject.text) == ["1001"])
            #expect(!thief.events.contains { $0.kind == .held })
            let own = [Sample.judged(old), listed("1002"), listed("1003", .hold(.unknownProduct))]
            let victim = try await ledger.record(Sample.decision(own, player: "victim", offset: 3))
            #expect(victim.granted.map(\.subject.text) == ["1002"])
            #expect(victim.events.contains { $0.kind == .held && $0.reason == .unknownProduct })
        }
    }

    /// The verdicts on the receipt's own transaction in the thief's submission.
    private static let verdicts: [JudgedPurchase.Verdict] = [
        .grant(payload: nil), .reject(.cancelled), .hold(.unknownProduct),
    ]

    @Test(
        "if a receipt's purchase is the player's or nobody's, the player also gets the Apple account's other purchases",
        arguments: Implementation.allCases)
    func own(implementation: Implementation) async throws {
        try await implementation.withLedger { ledger in
            let first = Sample.decision([Sample.judged(Sample.purchase("1000")), Self.fromHistory("1001")], offset: 1)
            let granted = try await ledger.record(first).granted
            #expect(granted.map(\.subject.text) == ["1000", "1001"])
            let again = Sample.decision([Sample.judged(Sample.purchase("1000")), Self.fromHistory("1002")], offset: 2)
            let more = try await ledger.record(again).granted
            #expect(more.map(\.subject.text) == ["1002"])
        }
    }

    @Test(
        "if another player becomes the owner of a receipt's purchase, a repeated submission gets its first answer",
        arguments: Implementation.allCases)
    func wonBefore(implementation: Implementation) async throws {
        try await implementation.withLedger { ledger in
            let refused = Sample.judged(Sample.purchase("1000"), .consumable, .reject(.bindingMismatch))
            func submitted(_ offset: Int64) -> PendingDecision {
                Sample.decision(
                    [refused, Self.fromHistory("1001")], player: "a", offset: offset, submission: "same", proof: "same")
            }
            let first = try await ledger.record(submitted(1))
            #expect(first.granted.map(\.subject.text) == ["1001"])
            _ = try await ledger.record(
                Sample.decision([Sample.judged(Sample.purchase("1000"))], player: "b", offset: 2))
            let again = try await ledger.record(submitted(3))
            #expect(again.events == first.events)
        }
    }
}
