import Fulfillment
import NamesAndTimes
import TestSupport

@testable import Pipeline

/// A `DueWork` that leases suspects, with the type of its items erased.
struct AnyLeaseSource: Sendable {
    struct Item: Sendable {
        let work: @Sendable () async throws -> Void
        let release: @Sendable () async throws -> Void
        let accuse: @Sendable () async throws -> Void
    }

    let nextTurn: @Sendable () async -> DueTurn<Item>
    let leaseDue: @Sendable (Int) async throws -> [[Item]]

    init(_ source: some DueWork) {
        nextTurn = {
            switch await source.nextTurn() {
            case .nothing: .nothing
            case .due: .due
            case .isolated(let leased): .isolated(Self.item(leased, of: source))
            }
        }
        leaseDue = { limit in
            try await source.leaseDue(limit: limit).groups.map { $0.map { Self.item($0, of: source) } }
        }
    }

    private static func item<Source: DueWork>(_ leased: Source.Item, of source: Source) -> Item {
        Item(
            work: { try await source.work(on: leased) }, release: { try await source.release(leased) },
            accuse: { try await source.accuse(leased, isAtWork: true) })
    }
}

/// A source of leases on in-memory stores. Apple finds all their purchases genuine.
struct LeaseBench: Sendable {
    let bench: ParkingBench
    /// Makes a new source, which knows nothing of earlier sources' leases.
    let source: @Sendable () -> AnyLeaseSource
    /// Enters a row that is due immediately.
    let enter: @Sendable (Int) async throws -> Void
    /// Enters two rows that one answer of Apple serves.
    let enterTogether: @Sendable (Int, Int) async throws -> Void
    /// Ends all leases, as if all workers had died long ago.
    let endLeases: @Sendable () -> Void

    static func parked() throws -> LeaseBench {
        let store = InMemoryParking()
        let bench = try bench(parked: store, InMemoryLedger())
        let park: @Sendable (Int, Submission) async throws -> Void = { offset, submission in
            let position = ParkingBench.position(Int64(offset))
            _ = try await store.park(
                ParkingSubmission(
                    submission: submission, position: position,
                    proof: DecodedProof(submission.proof)?.digest ?? position.content, traceparent: nil,
                    reason: .appleTrouble, history: WaitingHistory(failures: 1, parkings: 1), dueAfterSeconds: 0))
        }
        return LeaseBench(
            bench: bench, source: { AnyLeaseSource(bench.parkedSource()) },
            enter: { try await park($0, ParkingBench.submission("\($0)")) },
            enterTogether: { first, second in
                for offset in [first, second] { try await park(offset, ParkingBench.submission("\(first)")) }
            }, endLeases: { store.endLeases() })
    }

    static func held() throws -> LeaseBench {
        let ledger = InMemoryLedger()
        let bench = try bench(parked: InMemoryParking(), ledger)
        let hold: @Sendable ([Int]) async throws -> Void = { ids in
            let purchases = ids.map { purchase($0) }
            let submission = ParkingBench.submission("\(ids[0])")
            let position = ParkingBench.position(Int64(ids[0]))
            _ = try await ledger.settle(
                PendingDecision(
                    submission: submission, position: position,
                    proof: DecodedProof(submission.proof)?.digest ?? position.content,
                    verdict: .each(
                        purchases.map {
                            JudgedPurchase(purchase: $0, kind: .consumable, verdict: .hold(.retiredProduct))
                        }),
                    environment: .production, evidence: nil, decidedAt: position.timestamp, catalogVersion: 1,
                    traceparent: nil))
            for purchase in purchases { ledger.releaseByOperator(purchase.transactionID) }
        }
        return LeaseBench(
            bench: bench, source: { AnyLeaseSource(bench.heldSource()) }, enter: { try await hold([$0]) },
            enterTogether: { try await hold([$0, $1]) }, endLeases: { ledger.endHoldLeases() })
    }

    private static func bench(parked: InMemoryParking, _ ledger: InMemoryLedger) throws -> ParkingBench {
        let bench = try ParkingBench(parked: parked, database: ledger)
        bench.apple.answer(
            .genuine(
                GenuineReceipt(
                    bundleID: ParkingBench.bundle, environment: .production, purchases: (1...3).map { purchase($0) })))
        return bench
    }

    private static func purchase(_ number: Int) -> StorePurchase {
        let id = StoreTransactionID("\(1_000 + number)")
        return StorePurchase(
            transactionID: id, originalTransactionID: id, productID: "gold",
            purchasedAt: ParkingBench.position(1).timestamp)
    }
}
