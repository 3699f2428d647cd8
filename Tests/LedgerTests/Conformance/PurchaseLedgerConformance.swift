import Fulfillment
import Ledger
import NamesAndTimes
import TestSupport
import Testing

@Suite("Purchase ledgers in memory, observed in memory, and in PostgreSQL")
struct PurchaseLedgerConformance {
    enum Kind: CaseIterable {
        case inMemory
        case observed
        case postgres
    }

    /// Runs `body` on a ledger of this kind, and closes the ledger.
    private func with(_ kind: Kind, _ body: (any PurchaseLedger) async throws -> Void) async throws {
        switch kind {
        case .inMemory: try await body(InMemoryLedger())
        case .observed: try await body(ObservedLedger())
        case .postgres:
            let ledger = try await LedgerDatabase().ledger()
            try await body(ledger)
            await ledger.close()
        }
    }

    @Test("a purchase is granted only once, to the player who submits it first", arguments: Kind.allCases)
    func grantsOnce(kind: Kind) async throws {
        try await with(kind) { ledger in
            let purchase = Sample.judged(Sample.purchase("1000"))
            let first = try await ledger.record(Sample.decision([purchase], offset: 1))
            #expect(first.granted.map(\.subject) == ["1000"])
            #expect(first.events.count == 1)
            let second = try await ledger.record(Sample.decision([purchase], offset: 2))
            #expect(second.events.map(\.kind) == [.rejected])
            #expect(second.reason == .alreadyGranted)
            let other = try await ledger.record(Sample.decision([purchase], player: "player-2", offset: 3))
            #expect(other.reason == .ownedByOtherPlayer)
        }
    }

    @Test("a redelivered record has its first answer, byte for byte", arguments: Kind.allCases)
    func redelivered(kind: Kind) async throws {
        try await with(kind) { ledger in
            let decision = Sample.decision(
                [
                    Sample.judged(Sample.purchase("1000")), Sample.judged(Sample.purchase("1001")),
                    Sample.judged(Sample.purchase("1002"), .consumable, .hold(.unknownProduct)),
                ], offset: 1)
            let first = try await ledger.record(decision)
            #expect(first.events.map(\.kind) == [.granted, .granted, .held])
            #expect(try await ledger.recall(Sample.query(for: decision)) == .answered(first.events))
            #expect(try await ledger.record(decision) == first)
            let decidedOtherwise = Sample.decision(.whole(.foreignApp, []), offset: 1)
            #expect(try await ledger.record(decidedOtherwise) == first)
            let rejected = Sample.decision(.whole(.foreignApp, [Sample.purchase("2000")]), offset: 2)
            let answer = try await ledger.record(rejected)
            #expect(answer.reason == .foreignApp)
            #expect(try await ledger.recall(Sample.query(for: rejected)) == .answered(answer.events))
        }
    }

    @Test(
        "the ledger recalls a new proven receipt as known if all its purchases are granted, or held without dispute",
        arguments: Kind.allCases)
    func recallsPurchases(kind: Kind) async throws {
        try await with(kind) { ledger in
            let purchases = [Sample.purchase("1000"), Sample.purchase("1001")]
            let evidence = GenuineReceipt(bundleID: "com.example.game", environment: .production, purchases: purchases)
            let query = RecallQuery(
                position: Sample.decision([], offset: 9).position, proof: Digest256(hashing: [9]),
                mayBeRedelivered: false, evidence: evidence)
            #expect(try await ledger.recall(query) == .nothing)
            _ = try await ledger.record(Sample.decision([Sample.judged(purchases[0])], offset: 1))
            #expect(try await ledger.recall(query) == .nothing)
            let disputed = Sample.decision(
                [Sample.judged(purchases[1], .consumable, .hold(.ownershipDisputed))], player: "player-2", offset: 3,
                proof: "d", remembers: true)
            _ = try await ledger.record(disputed)
            #expect(try await ledger.recall(query) == .nothing)
            #expect(try await ledger.recall(Sample.query(for: disputed, redelivered: false)) == .nothing)
            _ = try await ledger.record(
                Sample.decision([Sample.judged(purchases[1], .consumable, .hold(.unknownProduct))], offset: 2))
            #expect(try await ledger.recall(query) == .provenBefore(evidence))
        }
    }

    @Test(
        "if a submission has a token, the ledger recalls its receipt only if all purchases belong to the player",
        arguments: Kind.allCases)
    func recallsOwnPurchases(kind: Kind) async throws {
        try await with(kind) { ledger in
            let purchases = [Sample.purchase("1000"), Sample.purchase("1001")]
            let evidence = GenuineReceipt(bundleID: "com.example.game", environment: .production, purchases: purchases)
            func recalled(by claimant: PlayerID?) async throws -> Bool {
                let query = RecallQuery(
                    position: Sample.decision([], offset: 9).position, proof: Digest256(hashing: [9]),
                    mayBeRedelivered: false, evidence: evidence, claimant: claimant)
                return try await ledger.recall(query) == .provenBefore(evidence)
            }
            _ = try await ledger.record(Sample.decision([Sample.judged(purchases[0])], player: "thief", offset: 1))
            _ = try await ledger.record(
                Sample.decision(
                    [Sample.judged(purchases[1], .consumable, .hold(.unknownProduct))], player: "thief", offset: 2))
            #expect(try await recalled(by: nil))
            #expect(try await recalled(by: "thief"))
            #expect(try await !recalled(by: "buyer"))
        }
    }

    @Test(
        "if a game server repeats a submission in a new record, the granted events are the same as before",
        arguments: Kind.allCases)
    func reissues(kind: Kind) async throws {
        try await with(kind) { ledger in
            let purchase = Sample.judged(Sample.purchase("1000"))
            let first = try await ledger.record(
                Sample.decision([purchase], offset: 1, submission: "same", proof: "same"))
            let later = Sample.noon.adding(milliseconds: 60_000)
            let again = try await ledger.record(
                Sample.decision(
                    [purchase, Sample.judged(Sample.purchase("1001"))], offset: 2, submission: "same", proof: "same",
                    at: later))
            #expect(again.events.map(\.subject) == ["1000", "1001"])
            #expect(again.events.first == first.events.first)
        }
    }

    @Test(
        "if Apple later refuses a submission that was granted, a repetition still gets the granted events",
        arguments: Kind.allCases)
    func grantedBefore(kind: Kind) async throws {
        try await with(kind) { ledger in
            let periods = ["1001", "1000"].map {
                Sample.judged(Sample.purchase($0, original: "1000"), .autoRenewableSubscription)
            }
            let first = try await ledger.record(
                Sample.decision(periods, offset: 1, submission: "same", proof: "same"))
            #expect(first.granted.count == 2)
            func refused(
                _ reason: Reason, _ offset: Int64, listing listed: [StorePurchase] = [], player: String = "player-1",
                submission: String = "same"
            ) async throws -> RecordedOutcome {
                try await ledger.record(
                    Sample.decision(
                        .whole(reason, listed), player: player, offset: offset, submission: submission, proof: "same"))
            }
            let again = try await refused(.accountNotFound, 2)
            #expect(again.events.sorted { $0.eventID < $1.eventID } == first.events.sorted { $0.eventID < $1.eventID })
            // Apple's answer lists one granted period and another purchase.
            let listed = [periods[0].purchase, Sample.purchase("2000")]
            let inPart = try await refused(.productMismatch, 3, listing: listed)
            #expect(Set(inPart.events.map(\.eventID)) == Set(first.events.map(\.eventID)))
            #expect(try await refused(.accountNotFound, 4, submission: "another").reason == .accountNotFound)
            #expect(try await refused(.accountNotFound, 5, player: "player-2").reason == .accountNotFound)
        }
    }

    @Test("if one batch grants and refuses the same submission, its purchase stays granted", arguments: Kind.allCases)
    func grantedInOneBatch(kind: Kind) async throws {
        try await with(kind) { ledger in
            let decisions = (0..<20).map { number in
                Sample.decision(
                    number == 0 ? .each([Sample.judged(Sample.purchase("1000"))]) : .whole(.accountNotFound, []),
                    offset: Int64(number), submission: "same", proof: "same")
            }
            let outcomes = try await recordAll(decisions, in: ledger)
            let granted = try #require(outcomes.first?.events)
            #expect(granted.map(\.kind) == [.granted])
            // A submission decided before the grant is refused.
            #expect(outcomes.allSatisfy { $0.events == granted || $0.reason == .accountNotFound })
            let last = Sample.decision(.whole(.noPurchase, []), offset: 30, submission: "same", proof: "same")
            #expect(try await ledger.record(last).events == granted)
        }
    }

    @Test(
        "a follow-up subscription is granted only to the previous one's owner, or to anyone if that has none",
        arguments: Kind.allCases)
    func goesOn(kind: Kind) async throws {
        try await with(kind) { ledger in
            let first = Sample.judged(Sample.purchase("1000"), .autoRenewableSubscription)
            #expect(try await ledger.record(Sample.decision([first], offset: 1)).granted.count == 1)
            var purchase = Sample.purchase("2000")
            purchase.previousOriginalTransactionID = "1000"
            let following = Sample.judged(purchase, .autoRenewableSubscription)
            let other = try await ledger.record(Sample.decision([following], player: "player-2", offset: 2))
            #expect(other.events.map(\.reason) == [.ownedByOtherPlayer])
            #expect(try await ledger.record(Sample.decision([following], offset: 3)).granted.map(\.subject) == ["2000"])
            // A subscription that continues a subscription without an owner is granted to any player.
            var free = Sample.purchase("3000")
            free.previousOriginalTransactionID = "2999"
            let brought = Sample.judged(free, .autoRenewableSubscription)
            #expect(
                try await ledger.record(Sample.decision([brought], player: "player-2", offset: 4)).granted.count == 1)
        }
    }

    @Test(
        "if a granted non-consumable is restored under a new id, the ledger grants it to nobody a second time",
        arguments: Kind.allCases)
    func nonConsumable(kind: Kind) async throws {
        try await with(kind) { ledger in
            let first = Sample.judged(Sample.purchase("1000"), .nonConsumable)
            let restored = Sample.judged(Sample.purchase("1001", original: "1000"), .nonConsumable)
            #expect(try await ledger.record(Sample.decision([first], offset: 1)).granted.count == 1)
            let same = try await ledger.record(Sample.decision([restored], offset: 2))
            #expect(same.reason == .alreadyGranted)
            let other = try await ledger.record(Sample.decision([restored], player: "player-2", offset: 3))
            #expect(other.reason == .ownedByOtherPlayer)
        }
    }

    @Test(
        "if an original was granted, even as a consumable or without a kind, its restored copy is rejected",
        arguments: Kind.allCases, [ProductKind.consumable, nil])
    func mistakenKind(kind: Kind, granted: ProductKind?) async throws {
        try await with(kind) { ledger in
            let first = Sample.judged(Sample.purchase("1000"), granted)
            let restored = Sample.judged(Sample.purchase("1001", original: "1000"), .nonConsumable)
            let held = Sample.judged(Sample.purchase("1002", original: "1000"), .nonConsumable, .hold(.unknownProduct))
            #expect(try await ledger.record(Sample.decision([first], offset: 1)).granted.count == 1)
            #expect(try await ledger.record(Sample.decision([restored], offset: 2)).reason == .alreadyGranted)
            #expect(try await ledger.record(Sample.decision([held], offset: 3)).reason == .alreadyGranted)
            let other = try await ledger.record(Sample.decision([restored], player: "player-2", offset: 4))
            #expect(other.reason == .ownedByOtherPlayer)
        }
    }

    @Test(
        "if a restored copy was granted, its original is rejected, even as a consumable or without a kind",
        arguments: Kind.allCases, [ProductKind.consumable, nil])
    func mistakenKindOfOriginal(kind: Kind, mistaken: ProductKind?) async throws {
        try await with(kind) { ledger in
            let restored = Sample.judged(Sample.purchase("1001", original: "1000"), .nonConsumable)
            let first = Sample.judged(Sample.purchase("1000"), mistaken)
            #expect(try await ledger.record(Sample.decision([restored], offset: 1)).granted.count == 1)
            #expect(try await ledger.record(Sample.decision([first], offset: 2)).reason == .alreadyGranted)
            let other = try await ledger.record(Sample.decision([first], player: "player-2", offset: 3))
            #expect(other.reason == .ownedByOtherPlayer)
        }
    }

    @Test("every period of a subscription is granted, and only to the subscription's owner", arguments: Kind.allCases)
    func subscription(kind: Kind) async throws {
        try await with(kind) { ledger in
            let periods = (0..<4).map {
                Sample.judged(Sample.purchase("100\($0)", original: "1000"), .autoRenewableSubscription)
            }
            #expect(try await ledger.record(Sample.decision(Array(periods[..<2]), offset: 1)).granted.count == 2)
            let renewed = try await ledger.record(Sample.decision(Array(periods[..<3]), offset: 2))
            #expect(renewed.granted.map(\.subject) == ["1002"])
            let other = try await ledger.record(Sample.decision(periods, player: "player-2", offset: 3))
            #expect(other.events.map(\.reason) == [.ownedByOtherPlayer])
        }
    }

    @Test(
        "if a held purchase is submitted again, its player gets the hold, another player owned_by_other_player",
        arguments: Kind.allCases)
    func holds(kind: Kind) async throws {
        try await with(kind) { ledger in
            let held = Sample.judged(Sample.purchase("1000"), nil, .hold(.unknownProduct))
            let first = try await ledger.record(Sample.decision([held], offset: 1))
            #expect(first.events.map(\.kind) == [.held])
            let again = try await ledger.record(Sample.decision([held], offset: 2))
            #expect(again.events.map(\.kind) == [.held])
            let other = try await ledger.record(
                Sample.decision([Sample.judged(Sample.purchase("1000"))], player: "player-2", offset: 3))
            #expect(other.reason == .ownedByOtherPlayer)
        }
    }

    @Test(
        "the ledger recalls a stored proof for any player, but only if it has all purchases of the proof",
        arguments: Kind.allCases)
    func recallsProofs(kind: Kind) async throws {
        try await with(kind) { ledger in
            let purchases = [Sample.judged(Sample.purchase("1000")), Sample.judged(Sample.purchase("1001"))]
            let decision = Sample.decision(purchases, offset: 1, proof: "p", remembers: true)
            _ = try await ledger.record(decision)
            let other = Sample.decision([], player: "player-2", offset: 9, proof: "p")
            let evidence = Sample.receipt(purchases.map(\.purchase))
            #expect(try await ledger.recall(Sample.query(for: other)) == .provenBefore(evidence))

            let partly = Sample.decision(
                [
                    Sample.judged(Sample.purchase("2000")),
                    Sample.judged(Sample.purchase("2001"), .consumable, .reject(.cancelled)),
                ], offset: 2, proof: "q", remembers: true)
            _ = try await ledger.record(partly)
            #expect(try await ledger.recall(Sample.query(for: partly, redelivered: false)) == .nothing)

            let renewable = Sample.decision(
                [Sample.judged(Sample.purchase("3000"), .autoRenewableSubscription)], offset: 3, proof: "r")
            _ = try await ledger.record(renewable)
            #expect(try await ledger.recall(Sample.query(for: renewable, redelivered: false)) == .nothing)
        }
    }
}
