import Fulfillment
import Ledger
import NamesAndTimes
import TestSupport
import Testing

@Suite("Refund ledgers in memory and in PostgreSQL")
struct NoticeLedgerConformance {
    struct Subject {
        let ledger: any PurchaseLedger
        let refunds: any NoticeLedger

        func apply(_ received: ReceivedNotice...) async throws -> [String] {
            try await refunds.apply(received, catalog: Catalog(version: 1, apps: [AppPolicy(bundleID: Sample.bundle)]))
                .value.effects.map { if case .applied(let effect) = $0 { effect.name } else { "refused" } }
        }

        func submit(
            _ id: String, original: String? = nil, kind: ProductKind = .consumable, player: String = "player-1",
            offset: Int64
        ) async throws -> RecordedOutcome {
            let purchase = Sample.judged(Sample.purchase(id, original: original), kind)
            return try await ledger.record(Sample.decision([purchase], player: player, offset: offset))
        }
    }

    private func with(_ implementation: Implementation, _ body: (Subject) async throws -> Void) async throws {
        switch implementation {
        case .inMemory:
            let ledger = InMemoryLedger()
            try await body(Subject(ledger: ledger, refunds: ledger))
        case .postgres:
            let database = try await LedgerDatabase()
            let ledger = database.ledger()
            try await body(Subject(ledger: ledger, refunds: PostgresNotices(pool: database.pool)))
            await ledger.close()
        }
    }

    /// Returns a notice of a refund or a reversal, signed `seconds` after noon.
    /// - Parameter refundedAfter: the refund's time in seconds after noon; nil if the refund has the time of the
    ///   signature.
    private func notice(
        _ id: String, kind: ProductKind = .consumable, isReversal: Bool = false, after seconds: Int64 = 0,
        refundedAfter: Int64? = nil, milliPercent: Int32? = nil
    ) -> ReceivedNotice {
        let signedAt = Sample.noon.adding(milliseconds: 1_000 * seconds)
        let refundedAt = Sample.noon.adding(milliseconds: 1_000 * (refundedAfter ?? seconds))
        let name = Identifier("\(isReversal) \(id) \(seconds)")
        let refund = RefundNotice(
            id: name, change: isReversal ? .reversed : .revoked(.refund, at: refundedAt), signedAt: signedAt,
            transaction: NotifiedTransaction(
                purchase: Sample.purchase(id), kind: kind, bundleID: Sample.bundle, environment: .production,
                refundedMilliPercent: milliPercent))
        return ReceivedNotice(
            StoreNotice(refund, type: isReversal ? "REFUND_REVERSED" : "REFUND", id: name),
            topic: "app-store-notifications", partition: 0, traceparent: nil, decidedAt: Sample.noon)
    }

    @Test("a notification revokes or reinstates a grant only once", arguments: Implementation.allCases)
    func revokedAndBack(implementation: Implementation) async throws {
        try await with(implementation) { subject in
            _ = try await subject.submit("1000", offset: 1)
            #expect(try await subject.apply(notice("1000")) == ["revoked"])
            #expect(try await subject.apply(notice("1000")) == ["duplicate"])
            #expect(try await subject.submit("1000", offset: 2).reason == .cancelled)
            #expect(try await subject.apply(notice("1000", isReversal: true, after: 5)) == ["reinstated"])
            #expect(try await subject.apply(notice("1000", after: 4)) == ["outdated"])
            #expect(try await subject.submit("1000", offset: 3).reason == .alreadyGranted)
        }
    }

    @Test(
        "a refund dated before a reversal but signed later revokes only if the ledger knew the reversed refund",
        arguments: Implementation.allCases)
    func refundedAgain(implementation: Implementation) async throws {
        try await with(implementation) { subject in
            for (offset, id) in ["1000", "1001"].enumerated() {
                _ = try await subject.submit(id, offset: Int64(offset))
            }
            #expect(try await subject.apply(notice("1000")) == ["revoked"])
            #expect(try await subject.apply(notice("1000", isReversal: true, after: 5)) == ["reinstated"])
            #expect(try await subject.apply(notice("1000", after: 4)) == ["outdated"])
            #expect(try await subject.apply(notice("1000", after: 9, refundedAfter: 1)) == ["revoked"])
            #expect(try await subject.apply(notice("1000", isReversal: true, after: 10)) == ["reinstated"])
            // The ledger knew no refund of 1001 before its reversal.
            #expect(try await subject.apply(notice("1001", isReversal: true, after: 5)) == ["remembered"])
            #expect(try await subject.apply(notice("1001", after: 9, refundedAfter: 1)) == ["outdated"])
            #expect(try await subject.apply(notice("1001", after: 10, refundedAfter: 2)) == ["outdated"])
        }
    }

    @Test(
        "if a grant is refunded in two parts, the later reversal reinstates it, whichever reversal arrives first",
        arguments: Implementation.allCases)
    func partsReversedLate(implementation: Implementation) async throws {
        try await with(implementation) { subject in
            for (offset, id) in ["1000", "1001"].enumerated() {
                _ = try await subject.submit(id, offset: Int64(offset))
                #expect(try await subject.apply(notice(id, after: 1, milliPercent: 50_000)) == ["revoked"])
                #expect(try await subject.apply(notice(id, after: 3, milliPercent: 33_333)) == ["remembered"])
            }
            #expect(try await subject.apply(notice("1000", isReversal: true, after: 2)) == ["revoked"])
            #expect(try await subject.apply(notice("1000", isReversal: true, after: 4)) == ["reinstated"])
            #expect(try await subject.apply(notice("1001", isReversal: true, after: 4)) == ["reinstated"])
            #expect(try await subject.apply(notice("1001", isReversal: true, after: 2)) == ["outdated"])
            #expect(try await subject.apply(notice("1001", after: 5, milliPercent: 10_000)) == ["revoked"])
        }
    }

    @Test(
        "no player is granted a refunded purchase before Apple reverses the refund",
        arguments: Implementation.allCases)
    func beforeTheGrant(implementation: Implementation) async throws {
        try await with(implementation) { subject in
            let effects = try await subject.apply(notice("1000"))
            #expect(effects == ["remembered"])
            #expect(try await subject.submit("1000", offset: 1).reason == .cancelled)
            #expect(try await subject.submit("1000", player: "player-2", offset: 2).reason == .cancelled)
            #expect(try await subject.apply(notice("1000", isReversal: true, after: 1)) == ["remembered"])
            #expect(try await subject.submit("1000", offset: 3).granted.count == 1)
        }
    }

    @Test(
        "if a proof shows a partial refund, the grant's refunded units are revoked, unless Apple reversed the refund",
        arguments: Implementation.allCases)
    func shownPartReversed(implementation: Implementation) async throws {
        try await with(implementation) { subject in
            func submit(_ id: String, refundedAfter seconds: Int64, offset: Int64) async throws -> [OutcomeEvent.Kind] {
                var shown = Sample.purchase(id)
                shown.quantity = 4
                shown.cancelledAt = Sample.noon.adding(milliseconds: 1_000 * seconds)
                shown.refundedMilliPercent = 50_000
                let decision = Sample.decision([Sample.judged(shown, .consumable)], offset: offset)
                return try await subject.ledger.record(decision).events.map(\.kind)
            }
            for id in ["1001", "1002", "1003"] { _ = try await subject.apply(notice(id, milliPercent: 50_000)) }
            for id in ["1002", "1003"] { _ = try await subject.apply(notice(id, isReversal: true, after: 5)) }
            #expect(try await submit("1000", refundedAfter: 0, offset: 0) == [.granted, .revoked])
            #expect(try await submit("1001", refundedAfter: 0, offset: 1) == [.granted, .revoked])
            #expect(try await submit("1002", refundedAfter: 0, offset: 2) == [.granted])
            // Apple refunded this purchase again after the reversal.
            #expect(try await submit("1003", refundedAfter: 9, offset: 3) == [.granted, .revoked])
        }
    }

    @Test(
        "a refund of the original transaction revokes a non-consumable that was granted under a restored id",
        arguments: Implementation.allCases)
    func restored(implementation: Implementation) async throws {
        try await with(implementation) { subject in
            let granted = try await subject.submit("1001", original: "1000", kind: .nonConsumable, offset: 1)
            #expect(granted.granted.count == 1)
            #expect(try await subject.apply(notice("1000", kind: .nonConsumable)) == ["revoked"])
            let again = try await subject.submit("1002", original: "1000", kind: .nonConsumable, offset: 2)
            #expect(again.reason == .cancelled)
        }
    }
}
