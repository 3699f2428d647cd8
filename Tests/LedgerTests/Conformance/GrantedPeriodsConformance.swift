import Fulfillment
import Ledger
import NamesAndTimes
import TestSupport
import Testing

/// A seat is a further transaction of a period that is granted already.
@Suite("Ledgers in memory and in PostgreSQL: further transactions of a granted period")
struct GrantedPeriodsConformance {
    private typealias Subject = AnnouncedSubject

    private static let end = Sample.noon.adding(milliseconds: Subject.period)

    /// Returns a seat that was bought after the period's own transaction 5000.
    private static func seats(
        _ id: String, product: String = "pass", until end: Timestamp = end,
        _ kind: ProductKind = .autoRenewableSubscription, _ verdict: JudgedPurchase.Verdict = .grant(payload: nil)
    ) -> JudgedPurchase {
        let boughtAt = Sample.noon.adding(milliseconds: (Int64(id) ?? 0) - 5000)
        return Sample.judged(
            Sample.purchase(id, original: "5000", product: product, expires: end, at: boughtAt), kind, verdict)
    }

    private func record(
        _ judged: JudgedPurchase..., in subject: AnnouncedSubject, player: String = "player-1", offset: Int64
    ) async throws -> RecordedOutcome {
        try await subject.ledger.record(Sample.decision(judged, player: player, offset: offset))
    }

    @Test(
        "the ledger rejects a second transaction of a granted period, and grants a different period, product or kind",
        arguments: Implementation.allCases)
    func submitted(implementation: Implementation) async throws {
        try await Subject.with(implementation) { subject in
            let first = try await record(Self.seats("5000"), Self.seats("5001"), in: subject, offset: 1)
            #expect(first.events.map(\.kind) == [.granted] && first.events.first?.subject == "5000")
            for offset in Int64(2)...3 {
                let more = try await record(Self.seats("5002"), in: subject, offset: offset)
                #expect(more.events.map(\.kind) == [.rejected] && more.reason == .alreadyGranted)
            }
            let other = try await record(Self.seats("5003"), in: subject, player: "player-2", offset: 4)
            #expect(other.reason == .ownedByOtherPlayer)
            let next = Self.end.adding(milliseconds: Subject.period)
            let granted = try await record(
                Self.seats("5004", until: next), Self.seats("5005", product: "gold-pass"),
                Self.seats("5006", .nonRenewingSubscription), in: subject, offset: 5)
            #expect(granted.granted.map(\.subject) == ["5004", "5005", "5006"])
        }
    }

    @Test(
        "if a receipt shows an extended period's new end, a second transaction of the period counts as already granted",
        arguments: Implementation.allCases)
    func extended(implementation: Implementation) async throws {
        try await Subject.with(implementation) { subject in
            _ = try await record(Self.seats("5000"), in: subject, offset: 1)
            let later = Self.end.adding(milliseconds: Subject.period / 2)
            let again = try await record(
                Self.seats("5000", until: later), Self.seats("5001", until: later), in: subject, offset: 2)
            #expect(again.events.map(\.kind) == [.rejected] && again.reason == .alreadyGranted)
        }
    }

    @Test(
        "if Apple announces a second transaction of a granted period, the worker refuses it; a renewal is granted",
        arguments: Implementation.allCases)
    func announced(implementation: Implementation) async throws {
        try await Subject.with(implementation) { subject in
            _ = try await record(Self.seats("5000"), in: subject, offset: 1)
            try await subject.enter([
                try Subject.told("5001", original: "5000", token: nil) { $0 = Self.seats("5001").purchase },
                try Subject.renewal("5002"),
            ])
            #expect(try await subject.deliver() == ["refused already_granted", "granted"])
        }
    }

    @Test(
        "if a period is granted, a released hold of the period's second transaction is rejected as already granted",
        arguments: Implementation.allCases)
    func held(implementation: Implementation) async throws {
        try await Subject.with(implementation) { subject in
            let held = try await record(
                Self.seats("5001", .autoRenewableSubscription, .hold(.retiredProduct)), in: subject, offset: 1)
            #expect(held.events.map(\.kind) == [.held])
            _ = try await record(Self.seats("5000"), in: subject, offset: 2)
            try await subject.release("5001")
            let hold = try #require(try await subject.holds.leaseDue(catalogVersion: 1, limit: 1).first)
            let event = try await subject.holds.settle(
                HoldDecision(
                    hold, verdict: .each([Self.seats("5001")]), environment: .production, decidedAt: Sample.noon,
                    catalogVersion: 1))
            #expect(event?.kind == .rejected && event?.reason == .alreadyGranted)
        }
    }

    @Test(
        "if a period's grant is revoked, the ledger grants a second transaction of the period",
        arguments: Implementation.allCases)
    func revoked(implementation: Implementation) async throws {
        try await Subject.with(implementation) { subject in
            _ = try await record(Self.seats("5000"), in: subject, offset: 1)
            let refund = RefundNotice(
                id: "refund", change: .revoked(.refund, at: Sample.noon), signedAt: Sample.noon,
                transaction: NotifiedTransaction(
                    purchase: Self.seats("5000").purchase, kind: .autoRenewableSubscription, bundleID: Sample.bundle,
                    environment: .production))
            _ = try await subject.refunds.apply(
                [
                    ReceivedNotice(
                        StoreNotice(refund, type: "REFUND", id: "refund"), topic: "app-store-notifications",
                        partition: 0, traceparent: nil, decidedAt: Sample.noon)
                ], catalog: Subject.catalog())
            let again = try await record(Self.seats("5001"), in: subject, offset: 2)
            #expect(again.granted.map(\.subject) == ["5001"])
        }
    }
}
