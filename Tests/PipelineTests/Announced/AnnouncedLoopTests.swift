import Fulfillment
import Logging
import NamesAndTimes
import Operations
import TestSupport
import Testing

@testable import Pipeline

@Suite("The loop that delivers announced purchases")
struct AnnouncedLoopTests {
    /// A store that grants no purchase, and records the loop's deliveries and its withdrawals of accusations.
    private final class Store: AnnouncedPurchases {
        typealias Suspect = SuspectLease<LeasedAnnouncement, SetAsidePurchase>

        struct Content {
            var due: [LeasedAnnouncement] = []
            /// The results of the next calls of `leaseSuspect`, in order.
            var suspects: [Suspect] = []
            var delivered: [[Identifier]] = []
            /// The unreadable facts of each delivered purchase.
            var unreadable: [[String]] = []
            var forgiven: [[Identifier]] = []
            var refusesDeliveries = false
            /// Whether a delivery lasts until its task is cancelled.
            var lastsUntilStop = false
            var began = 0
            var refusedForgiving = 0
        }

        private struct Refused: Error {}

        private let state: Shared<Content>
        var content: Content { state.value }

        init(_ content: Content) { state = Shared(content) }

        func until(_ what: String, _ isAsWanted: (Content) -> Bool) async throws {
            try await state.until(what, isAsWanted)
        }

        func leaseDue(under catalog: Catalog, limit: Int) async throws -> [LeasedAnnouncement] {
            state.update { state in
                defer { state.due = [] }
                return state.due
            }
        }

        func leaseSuspect(under catalog: Catalog) async throws -> Suspect {
            state.update { $0.suspects.isEmpty ? .none : $0.suspects.removeFirst() }
        }

        func forgive(_ leased: [LeasedAnnouncement]) async throws {
            try state.update { state throws(Refused) in
                state.refusedForgiving -= 1
                if state.refusedForgiving >= 0 { throw Refused() }
                state.forgiven.append(leased.map(\.purchase.purchase.transactionID))
            }
        }

        func deliver(
            _ leased: [LeasedAnnouncement], under catalog: Catalog, at now: Timestamp
        ) async throws -> [AnnouncedOutcome] {
            state.update { $0.began += 1 }
            if content.lastsUntilStop { try? await untilCancelled() }
            try state.update { state throws(Refused) in
                if state.refusesDeliveries { throw Refused() }
                state.delivered.append(leased.map(\.purchase.purchase.transactionID))
                state.unreadable += leased.map(\.purchase.purchase.unreadable)
            }
            let decided = leased.filter { !$0.isToBeAsked(under: ParkingBench.serverApp) }
            return decided.map { AnnouncedOutcome(of: $0.purchase, .unclaimed, reason: "unknown_player") }
        }
    }

    static func purchase(
        _ id: Identifier, unreadable: [String] = [], token: String? = nil
    ) throws -> AnnouncedPurchase {
        let time = Timestamp(milliseconds: 1_795_167_000_000)
        var purchase = StorePurchase(
            transactionID: id, originalTransactionID: id, productID: "gold", purchasedAt: time)
        purchase.unreadable = unreadable
        purchase.appAccountToken = token
        return try #require(
            AnnouncedPurchase(
                evidence: GenuineReceipt(
                    bundleID: ParkingBench.bundle, environment: .production, purchases: [purchase]),
                source: .history, name: id, toldAt: time, isRenewal: false))
    }

    static func loop(_ bench: ParkingBench, _ store: any AnnouncedPurchases) -> AnnouncedLoop {
        AnnouncedLoop(
            worker: bench.worker, announced: store, health: Health(),
            logger: Logger(label: "announced") { _ in SwiftLogNoOpLogHandler() })
    }

    private func leased(_ id: Identifier, unreadable: [String] = []) throws -> LeasedAnnouncement {
        LeasedAnnouncement(purchase: try Self.purchase(id, unreadable: unreadable), timesHeld: 0, lease: 1)
    }

    private func run(
        _ content: Store.Content, until what: String,
        prepare: (ParkingBench) -> Void = { _ in }, _ isDone: (Store.Content) -> Bool
    ) async throws -> (Store, String) {
        let bench = try ParkingBench()
        defer { bench.close() }
        prepare(bench)
        let store = Store(content)
        let loop = Self.loop(bench, store)
        loop.start()
        try await store.until(what, isDone)
        await loop.stop()
        return (store, bench.metrics.registry.render())
    }

    @Test("if an announced purchase may have killed workers, the loop delivers it alone; after three deaths, never")
    func suspects() async throws {
        var content = Store.Content()
        content.due = [try leased("1"), try leased("2")]
        content.suspects = [
            .isolated(try leased("3")),
            .setAside(SetAsidePurchase(transactionID: "4", bundleID: "b", source: .history, deaths: 3)),
            .isolated(try leased("5")),
        ]
        let (store, metrics) = try await run(content, until: "three deliveries") { $0.delivered.count == 3 }
        #expect(store.content.delivered == [["1", "2"], ["3"], ["5"]])
        // The loop withdraws a suspect's accusation as soon as the delivery only waits for the database.
        #expect(store.content.forgiven == [["3"], ["5"]])
        #expect(metrics.contains(#"receiptd_crashed_purchases_total{kind="announced"} 1"#))
        #expect(
            metrics.contains(#"receiptd_announced_total{source="history",outcome="unclaimed",reason="crashed"} 1"#))
    }

    @Test(
        "if an announced purchase has unreadable fields, the loop asks Apple, and delivers the purchase Apple returns")
    func askedByName() async throws {
        var content = Store.Content()
        content.due = [
            try leased("1"), try leased("2", unreadable: ["quantity"]), try leased("3", unreadable: ["quantity"]),
            try leased("4", unreadable: ["quantity"]),
        ]
        let (store, _) = try await run(content, until: "one more delivery") { bench in
            bench.catalog.update { $0 = Catalog(version: 1, apps: [ParkingBench.serverApp]) }
            // Apple fails at the first question, refuses the credentials at the second, and answers the third.
            bench.queries.fail(.transaction, .trouble(.init(.timeout)), .blocked(.serverAPI))
            for id in ["2", "3", "4"] as [Identifier] {
                bench.queries.register(
                    NotifiedTransaction(
                        purchase: StorePurchase(
                            transactionID: id, originalTransactionID: id, productID: "gold",
                            purchasedAt: Timestamp(milliseconds: 1_795_167_000_000)),
                        kind: .consumable, bundleID: ParkingBench.bundle, environment: .production))
            }
        } _: {
            $0.delivered.count == 2
        }
        #expect(store.content.delivered.map(\.count) == [4, 1])
        #expect(store.content.unreadable == [[], ["quantity"], ["quantity"], ["quantity"], []])
        #expect(store.content.forgiven == [["2", "3", "4"]])
    }

    /// Makes a bench whose app grants missed purchases to the players of their tokens, and may ask Apple.
    private static func grantingBench(_ ledger: InMemoryLedger) throws -> ParkingBench {
        let bench = try ParkingBench(database: ledger)
        var app = ParkingBench.serverApp
        app.announcements.missedPurchases = .grant
        app.accountTokenIs = .playerID
        bench.catalog.update { [app] in $0 = Catalog(version: 1, apps: [app]) }
        return bench
    }

    @Test("if a submission shows an announced purchase's refund, the loop asks Apple, and decides by Apple's answer")
    func shownRefunds() async throws {
        let ledger = InMemoryLedger()
        let bench = try Self.grantingBench(ledger)
        defer { bench.close() }
        let purchases = try ["1", "2"].map { try Self.purchase($0, token: "1a2b3c4d-0000-4000-8000-000000000001") }
        ledger.announce(purchases)
        ledger.endPatience()
        for (offset, known) in purchases.map(\.purchase).enumerated() {
            var refunded = known
            refunded.cancelledAt = known.purchasedAt.adding(milliseconds: 1)
            let judged = JudgedPurchase(purchase: refunded, kind: .consumable, verdict: .reject(.cancelled))
            _ = try await ledger.settle(
                PendingDecision(
                    submission: ParkingBench.submission("of another"), position: ParkingBench.position(Int64(offset)),
                    proof: Digest256(hashing: []), verdict: .each([judged]), environment: .production, evidence: nil,
                    decidedAt: refunded.purchasedAt, catalogVersion: 1, traceparent: nil))
            // Apple has reversed the refund of purchase 1.
            bench.queries.register(
                NotifiedTransaction(
                    purchase: known.transactionID == "1" ? known : refunded, kind: .consumable,
                    bundleID: ParkingBench.bundle, environment: .production))
        }
        let loop = Self.loop(bench, ledger)
        await withDiscardingTaskGroup { _ = await loop.turn(&$0) }
        #expect(bench.queries.questions(.transaction).count == 2)
        let metrics = bench.metrics.registry.render()
        #expect(metrics.contains(#"receiptd_announced_total{source="history",outcome="granted",reason=""} 1"#))
        #expect(metrics.contains(#"receiptd_announced_total{source="history",outcome="refused",reason="cancelled"} 1"#))
    }

    @Test(
        "if the database lost an announced purchase's grant, the loop asks Apple, and refuses the purchase if refunded")
    func lostGrant() async throws {
        let ledger = InMemoryLedger()
        let bench = try Self.grantingBench(ledger)
        defer { bench.close() }
        let purchase = try Self.purchase("1")
        ledger.announce([purchase])
        ledger.endPatience()
        try await ledger.enter([PublishedClaim("1", of: "player-1", in: ParkingBench.bundle, published: "1")])
        var refunded = purchase.purchase
        refunded.cancelledAt = purchase.toldAt.adding(milliseconds: 1)
        bench.queries.register(
            NotifiedTransaction(
                purchase: refunded, kind: .consumable, bundleID: ParkingBench.bundle, environment: .production))
        let loop = Self.loop(bench, ledger)
        await withDiscardingTaskGroup { _ = await loop.turn(&$0) }
        #expect(bench.queries.questions(.transaction) == [.transaction("1")])
        let metrics = bench.metrics.registry.render()
        #expect(metrics.contains(#"receiptd_announced_total{source="history",outcome="refused",reason="cancelled"} 1"#))
    }

    @Test(
        "if a delivery of announced purchases fails, the loop stores that the worker survived, and retries this write")
    func forgiven() async throws {
        var content = Store.Content()
        content.refusesDeliveries = true
        content.refusedForgiving = 1
        content.due = [try leased("1"), try leased("2")]
        content.suspects = [.isolated(try leased("3"))]
        let (store, _) = try await run(content, until: "both are forgiven") { $0.forgiven.count == 3 }
        #expect(store.content.forgiven == [["1", "2"], ["3"], ["3"]])
        #expect(store.content.delivered.isEmpty)
    }

    @Test("a loop that stops during a delivery of announced purchases completes the delivery first")
    func stops() async throws {
        var content = Store.Content()
        content.lastsUntilStop = true
        content.due = [try leased("1"), try leased("2")]
        let (store, _) = try await run(content, until: "it began") { $0.began == 1 }
        #expect(store.content.delivered == [["1", "2"]])
        #expect(store.content.began == 1)
    }
}
