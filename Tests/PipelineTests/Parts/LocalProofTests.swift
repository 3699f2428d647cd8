import Fulfillment
import Logging
import NamesAndTimes
import Operations
import TestSupport
import Testing

@testable import Pipeline

@Suite("Decisions from a proof alone")
struct LocalProofTests {
    private static let content = ProofContent(
        bundleID: ParkingBench.bundle, environment: .production,
        purchases: [
            StorePurchase(
                transactionID: "1000", originalTransactionID: "1000", productID: "gold",
                purchasedAt: Timestamp(milliseconds: 1_795_167_000_000))
        ], signedAt: Timestamp(milliseconds: 1_795_167_000_000))

    private func with(
        _ bench: @autoclosure () throws -> ParkingBench = try ParkingBench(),
        _ body: (ParkingBench) async throws -> Void
    ) async throws {
        let bench = try bench()
        defer { bench.close() }
        try await body(bench)
    }

    private func submission(_ name: String, player: PlayerID = "player-1") -> Submission {
        Submission(
            submissionID: Identifier(name), playerID: player, bundleID: ParkingBench.bundle,
            proof: .signedTransaction("\(name).b.c"))
    }

    private func rejected(_ bench: ParkingBench, _ reason: Reason) -> Int {
        bench.metrics.outcomes.with("receipt.rejected", reason.rawValue).value
    }

    @Test("the worker rejects a proof locally without Apple, the database, or a wait for the player's turn")
    func rejections() async throws {
        try await with { bench in
            var foreign = Self.content
            foreign.bundleID = "com.example.other"
            var sandbox = Self.content
            sandbox.environment = .sandbox
            let readings: [(ProofReading, Reason)] = [
                (.malformed, .malformedReceipt), (.read(foreign, .proven), .foreignApp),
                (.read(nil, .forged), .unauthenticReceipt), (.read(Self.content, .forged), .unauthenticReceipt),
                (.read(sandbox, .proven), .sandboxNotAllowed),
            ]
            // The test holds the player's turn, so a submission that waited for the turn would wait for ever.
            let first = bench.worker.lanes.enter("player-1")
            for (index, (reading, reason)) in readings.enumerated() {
                let before = rejected(bench, reason)
                for submission in [ParkingBench.submission("r\(index)"), submission("t\(index)")] {
                    bench.proofs.read(submission.proof, as: reading)
                    try await bench.work(on: bench.item(submission))
                }
                #expect(rejected(bench, reason) == before + 2)
            }
            bench.worker.lanes.leave(first)
            #expect(bench.apple.asked.count == 0)
            #expect(bench.ledger.queries.isEmpty && bench.ledger.decisions.isEmpty)
            #expect(bench.store.content.parked.isEmpty)
        }
    }

    @Test("the worker decides a proven signed transaction by the transaction's payload, without a request to Apple")
    func signedTransaction() async throws {
        try await with { bench in
            let submission = submission("t")
            bench.proofs.read(submission.proof, as: .read(Self.content, .proven))
            try await bench.work(on: bench.item(submission))
            #expect(bench.apple.asked.count == 0)
            let decision = try #require(bench.ledger.decisions.first)
            #expect(decision.verdict.purchases == Self.content.purchases)
            #expect(decision.environment == .production && decision.undeliveredTerms?.provesPossession == true)
            guard case .each(let judged) = decision.verdict else {
                Issue.record("it is ruled on as a whole")
                return
            }
            #expect(judged.map(\.verdict) == [.grant(payload: nil)])
        }
    }

    @Test(
        "without API credentials the worker parks a signed transaction that it cannot check, and does not ask Apple")
    func notProvable() async throws {
        try await with { bench in
            let submission = submission("t")
            bench.proofs.read(submission.proof, as: .read(Self.content, .notProvable))
            try await bench.work(on: bench.item(submission))
            #expect(bench.store.content.parked.map(\.reason) == [.blockedNoServerAPI])
            #expect(bench.store.content.parked.first?.undelivered.isEmpty == true)
            #expect(bench.apple.asked.count == 0)
        }
    }

    @Test("if Apple refuses a proven receipt as malformed or unauthentic, the worker parks the submission")
    func provenAndRefused() async throws {
        for refusal: AppleAnswer.Refusal in [.malformed, .unauthentic] {
            try await with { bench in
                let submission = ParkingBench.submission("r")
                bench.proofs.read(submission.proof, as: .read(Self.content, .proven))
                bench.apple.answer(.refused(refusal))
                try await bench.work(on: bench.item(submission))
                #expect(bench.store.content.parked.map(\.reason) == [.appleTrouble])
                #expect(bench.store.content.parked.first?.undelivered.map(\.transactionID) == ["1000"])
                #expect(bench.ledger.decisions.isEmpty)
            }
        }
    }

    @Test(
        "if the catalog says verification: local, the worker decides proven receipts alone, and asks Apple about others"
    )
    func localVerification() async throws {
        try await with { bench in
            var app = ParkingBench.app
            app.verification = .local
            let catalog = Catalog(version: 2, apps: [app])
            bench.catalog.update { $0 = catalog }
            bench.apple.answer(ParkingBench.genuine)
            let proven = ParkingBench.submission("proven")
            bench.proofs.read(proven.proof, as: .read(Self.content, .proven))
            try await bench.work(on: bench.item(proven))
            #expect(bench.apple.asked.count == 0 && bench.ledger.decisions.count == 1)
            try await bench.work(on: bench.item(ParkingBench.submission("other"), offset: 2))
            #expect(bench.apple.asked.count == 1 && bench.ledger.decisions.count == 2)
        }
    }

    @Test("if the ledger has a proven receipt's purchases, the worker decides without a request to Apple")
    func recall() async throws {
        try await with { bench in
            let submission = ParkingBench.submission("r")
            bench.proofs.read(submission.proof, as: .read(Self.content, .proven))
            let receipt = GenuineReceipt(
                bundleID: ParkingBench.bundle, environment: .production, purchases: Self.content.purchases,
                createdAt: Self.content.signedAt)
            bench.ledger.recollect(.provenBefore(receipt))
            try await bench.work(on: bench.item(submission))
            #expect(bench.ledger.queries.map(\.evidence) == [receipt])
            #expect(bench.apple.asked.count == 0)
            #expect(bench.ledger.decisions.map(\.verdict.purchases) == [receipt.purchases])
        }
    }

    @Test(
        "a proven signature from the future shows that the host's clock is behind, and an unproven signature does not")
    func futureProof() async throws {
        try await with { bench in
            var future = Self.content
            let receipt = GenuineReceipt(
                bundleID: ParkingBench.bundle, environment: .production, purchases: future.purchases)
            future.signedAt = Timestamp(milliseconds: WallClock.now.milliseconds + 3_600_000)
            for (name, signature) in [("a", ParsedProof.Signature.notProvable), ("b", .proven)] {
                let submission = ParkingBench.submission(name)
                bench.proofs.read(submission.proof, as: .read(future, signature))
                bench.apple.answer(.genuine(receipt))
                try await bench.work(on: bench.item(submission, offset: name == "a" ? 1 : 2))
                let isBehind = bench.metrics.signedClock.take().map { $0 < -3_500 } ?? false
                #expect(isBehind == (signature == .proven))
            }
        }
    }

    @Test("the worker keeps Apple's answer if the proof is not provable, or has fewer purchases than the answer")
    func remembered() async throws {
        try await with { bench in
            let more = StorePurchase(
                transactionID: "1001", originalTransactionID: "1001", productID: "gold",
                purchasedAt: Self.content.purchases[0].purchasedAt)
            func answer(_ purchases: [StorePurchase]) -> GenuineReceipt {
                GenuineReceipt(bundleID: ParkingBench.bundle, environment: .production, purchases: purchases)
            }
            let cases: [(ParsedProof.Signature, GenuineReceipt, isKept: Bool)] = [
                (.proven, answer(Self.content.purchases), false),
                (.proven, answer(Self.content.purchases + [more]), true),
                (.notProvable, answer(Self.content.purchases), true),
            ]
            for (index, (signature, receipt, isKept)) in cases.enumerated() {
                let submission = ParkingBench.submission("r\(index)")
                bench.proofs.read(submission.proof, as: .read(Self.content, signature))
                bench.apple.answer(.genuine(receipt))
                try await bench.work(on: bench.item(submission, offset: Int64(index)))
                let decision = try #require(bench.ledger.decisions.last)
                #expect(bench.ledger.decisions.count == index + 1)
                #expect(decision.evidence == (isKept ? receipt : nil))
            }
        }
    }

    @Test(
        "an app without credentials counts as misconfigured once several players, not only one, send transaction ids"
    )
    func missingCredentials() async throws {
        try await with { bench in
            let gauge = bench.metrics.misconfigured.with(ParkingBench.bundle.text)
            func send(_ id: Int, player: PlayerID) async throws {
                let submission = Submission(
                    submissionID: Identifier("s\(id)"), playerID: player, bundleID: ParkingBench.bundle,
                    proof: .transactionID(Identifier("\(id)")))
                try await bench.work(on: bench.item(submission, offset: Int64(id)))
            }
            for id in 0..<30 { try await send(id, player: "forger") }
            #expect(gauge.value == 0)
            #expect(bench.store.content.parked.count == 30)
            bench.worker.noteNewCredentials()
            for id in 30..<32 { try await send(id, player: Identifier("player-\(id)")) }
            #expect(gauge.value == 1)
            bench.worker.noteNewCredentials()
            #expect(gauge.value == 1)
            var app = ParkingBench.app
            app.serverAPI = ServerAPICredentials(issuerID: "i", keyID: "k", privateKeySetting: "S")
            let catalog = Catalog(version: 2, apps: [app])
            bench.catalog.update { $0 = catalog }
            bench.worker.noteNewCredentials()
            #expect(gauge.value == 0)
        }
    }
}
