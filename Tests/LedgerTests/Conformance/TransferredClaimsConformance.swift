import Fulfillment
import NamesAndTimes
import TestSupport
import Testing

/// Tests a database that was restored to a state from before an operator's transfer of a subscription.
@Suite("Ledgers in memory and in PostgreSQL: published periods after a transfer that the database lost")
struct TransferredClaimsConformance {
    private typealias Subject = AnnouncedSubject

    /// The time at which a worker notices the fall-back, later than every row of the ledger.
    private static let noticedAt = Timestamp(milliseconds: 4_000_000_000_000)

    /// Returns the published claims. Period 5001 belonged to the first player. Period 5002 came after the transfer.
    private func published() throws -> (renewals: [AnnouncedPurchase], claims: [PublishedClaim]) {
        let renewals = [try Subject.renewal("5001"), try Subject.renewal("5002")]
        let players: [PlayerID] = ["player-1", "player-2"]
        let all = zip(renewals, players).flatMap { renewal, player in
            PublishedClaim.claims(
                of: renewal.purchase.transactionID, under: "5000",
                period: renewal.period(.autoRenewableSubscription), playerID: player, bundleID: Sample.bundle)
        }
        // The latest owner of the original transaction counts.
        let each = Dictionary(all.map { ($0.id, $0) }) { $1 }
        return (renewals, each.values.sorted { $0.id < $1.id })
    }

    private func with(
        _ implementation: Implementation, _ check: (Subject, [AnnouncedPurchase]) async throws -> Void
    ) async throws {
        try await Subject.with(implementation) { subject in
            let first = try await subject.submit(
                "5000", product: "pass", kind: .autoRenewableSubscription, offset: 1)
            #expect(first.granted.count == 1)
            let (renewals, claims) = try published()
            try await subject.claims.enter(claims, noticedAt: Self.noticedAt)
            try await check(subject, renewals)
        }
    }

    @Test(
        "if Apple announces lost periods again, each period goes to the player of its published grant",
        arguments: Implementation.allCases)
    func announced(implementation: Implementation) async throws {
        try await with(implementation) { subject, renewals in
            let after = try Subject.renewal("5003")
            try await subject.enter(renewals + [after])
            var granted: [OutcomeEvent] = []
            // The ledger in memory leases one purchase of an original transaction at a time.
            for _ in 0..<3 { granted += try await subject.events().filter { $0.kind == .granted } }
            let players = Dictionary(granted.map { ($0.subject, $0.playerID) }) { $1 }
            // The database lost the operator's transfer, so the original transaction's owner is the player of the
            // latest published grant.
            #expect(players == ["5001": "player-1", "5002": "player-2", "5003": "player-2"])
        }
    }

    private func decide(
        _ renewal: AnnouncedPurchase, _ player: String, _ offset: Int64, in subject: Subject
    ) async throws -> RecordedOutcome {
        try await subject.ledger.record(
            Sample.decision(
                .each([Sample.judged(renewal.purchase, .autoRenewableSubscription, .grant(payload: nil))]),
                player: player, offset: offset, isDecidedAgain: true))
    }

    @Test(
        "if players submit lost periods again, each period goes to the player of its published grant",
        arguments: Implementation.allCases)
    func submitted(implementation: Implementation) async throws {
        try await with(implementation) { subject, renewals in
            for (renewal, player, other, offset) in [
                (renewals[0], "player-1", "player-2", 10), (renewals[1], "player-2", "player-1", 20),
            ] as [(AnnouncedPurchase, String, String, Int64)] {
                #expect(try await decide(renewal, other, offset, in: subject).reason == .ownedByOtherPlayer)
                let granted = try await decide(renewal, player, offset + 1, in: subject).granted
                #expect(granted.map(\.subject) == [renewal.purchase.transactionID])
            }
        }
    }

    @Test(
        "if the ledger still has a grant, its published event's player does not replace the subscription's owner",
        arguments: Implementation.allCases)
    func known(implementation: Implementation) async throws {
        try await Subject.with(implementation) { subject in
            _ = try await subject.submit("5000", product: "pass", kind: .autoRenewableSubscription, offset: 1)
            try await subject.claims.enter(
                PublishedClaim.claims(
                    of: "5000", under: "5000", period: nil, playerID: "player-2", bundleID: Sample.bundle),
                noticedAt: Self.noticedAt)
            try await subject.enter([try Subject.renewal("5001")])
            #expect(try await subject.events().map(\.playerID) == ["player-1"])
        }
    }
}
