import Fulfillment
import NamesAndTimes
import TestSupport
import Testing

@testable import Pipeline

@Suite("Proven proofs whose purchase Apple's answer omits")
struct SignedWordTests {
    private static let receipt = Submission.Proof.receipt(ParkingBench.receipt("r"))
    private static let transaction = Submission.Proof.signedTransaction("a.b.c")

    private func with(_ app: AppPolicy, _ body: (ParkingBench) async throws -> Void) async throws {
        let bench = try ParkingBench(parkAfterSeconds: 30)
        defer { bench.close() }
        let catalog = Catalog(version: 1, apps: [app])
        bench.catalog.update { $0 = catalog }
        for proof in [Self.receipt, Self.transaction] {
            bench.proofs.read(
                proof,
                as: .read(
                    ProofContent(
                        bundleID: ParkingBench.bundle, environment: .sandbox, purchases: [Self.purchase],
                        signedAt: WallClock.now.adding(milliseconds: -7_200_000)), .proven))
        }
        try await body(bench)
    }

    private static var sandbox: AppPolicy {
        var app = ParkingBench.app
        app.sandbox = .accept
        return app
    }

    private static var sandboxWithAPI: AppPolicy {
        var app = ParkingBench.serverApp
        app.sandbox = .accept
        return app
    }

    private static let purchase = StorePurchase(
        transactionID: "1000", originalTransactionID: "1000", productID: "gold",
        purchasedAt: Timestamp(milliseconds: 1_795_167_000_000))

    private static func submission(_ proof: Submission.Proof) -> Submission {
        Submission(submissionID: "s", playerID: "player-1", bundleID: ParkingBench.bundle, proof: proof)
    }

    /// Returns a parked submission whose doubtful answers have reached the number at which the worker believes them.
    private static func longAgo(_ proof: Submission.Proof) -> SubmissionInHand {
        let history = WaitingHistory(
            doubts: [.noPurchase: Judge.triesInDoubt, .transactionNotFound: Judge.triesForUnknownTransaction],
            parkings: 9)
        return SubmissionInHand(parked: ParkingBench.leased(submission(proof), .doubt, history: history))
    }

    @Test(
        "if Apple's answers omit a proven receipt's purchase, the submission stays parked with the detail empty_answer")
    func waits() async throws {
        try await with(Self.sandbox) { bench in
            for answer in [ParkingBench.emptyInSandbox, .refused(.nothingTold)] {
                bench.apple.answer(answer)
                try await bench.work(on: Self.longAgo(Self.receipt))
            }
            #expect(bench.ledger.decisions.isEmpty)
            #expect(bench.store.content.putBack.map(\.reason) == [.appleTrouble, .appleTrouble])
            #expect(bench.store.content.putBack.map(\.detail) == ["empty_answer", "empty_answer"])
        }
    }

    @Test("if Apple's answer omits a proven purchase, the worker grants the purchase that the Server API confirms")
    func named() async throws {
        try await with(Self.sandboxWithAPI) { bench in
            for (offset, answer) in [ParkingBench.emptyInSandbox, .refused(.nothingTold)].enumerated() {
                bench.apple.answer(answer)
                bench.queries.register(
                    NotifiedTransaction(
                        purchase: Self.purchase, kind: .consumable, bundleID: ParkingBench.bundle, environment: .sandbox
                    ))
                try await bench.work(on: bench.item(Self.submission(Self.receipt), offset: Int64(offset)))
                let decision = try #require(bench.ledger.decisions.last)
                #expect(decision.environment == .sandbox && decision.verdict.grantsAll)
                #expect(decision.verdict.purchases.map(\.transactionID) == ["1000"])
            }
            #expect(bench.queries.questions(.transaction).count == 2)
        }
    }

    @Test("if Apple's answer omits a purchase that the ledger has, the worker decides the purchase")
    func inLedger() async throws {
        try await with(Self.sandbox) { bench in
            bench.ledger.know("1000")
            bench.apple.answer(ParkingBench.emptyInSandbox)
            var content = ProofContent(
                bundleID: ParkingBench.bundle, environment: .sandbox, purchases: [Self.purchase])
            content.holdsAutoRenewable = true
            bench.proofs.read(Self.receipt, as: .read(content, .proven))
            try await bench.work(on: bench.item(Self.submission(Self.receipt)))
            #expect(bench.ledger.decisions.map(\.verdict.purchaseCount) == [1])
        }
    }

    @Test("while Apple does not know a proven transaction, the submission stays parked and is not rejected")
    func unknownTransaction() async throws {
        try await with(Self.sandboxWithAPI) { bench in
            for refusal: AppleAnswer.Refusal in [.unknownTransaction, .invalidTransaction] {
                bench.apple.answer(.refused(refusal))
                try await bench.work(on: Self.longAgo(Self.transaction))
            }
            #expect(bench.ledger.decisions.isEmpty)
            #expect(bench.store.content.putBack.map(\.detail) == ["empty_answer", "empty_answer"])
        }
    }
}
