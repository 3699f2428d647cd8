import Fulfillment
import Logging
import NamesAndTimes
import Operations
import TestSupport
import Testing

@testable import Pipeline

@Suite("Transaction ids and signed transactions as proofs")
struct TransactionTests {
    private static let purchasedAt = Timestamp(milliseconds: 1_795_167_000_000)

    private func with(
        _ app: AppPolicy = ParkingBench.serverApp, _ body: (ParkingBench) async throws -> Void
    ) async throws {
        let bench = try ParkingBench(parkAfterSeconds: 30)
        defer { bench.close() }
        let catalog = Catalog(version: 1, apps: [app])
        bench.catalog.update { $0 = catalog }
        try await body(bench)
    }

    private func submission(_ proof: Submission.Proof, token: String? = nil) -> Submission {
        Submission(
            submissionID: "s", playerID: "player-1", bundleID: ParkingBench.bundle, proof: proof,
            appAccountToken: token)
    }

    private func genuine(token: String? = nil, cancelledAt: Timestamp? = nil) -> GenuineReceipt {
        GenuineReceipt(
            bundleID: ParkingBench.bundle, environment: .production,
            purchases: [
                StorePurchase(
                    transactionID: "1000", originalTransactionID: "1000", productID: "gold",
                    purchasedAt: Self.purchasedAt, cancelledAt: cancelledAt, appAccountToken: token)
            ])
    }

    private func verdicts(_ bench: ParkingBench) -> [JudgedPurchase.Verdict] {
        bench.ledger.decisions.flatMap { decision -> [JudgedPurchase.Verdict] in
            if case .each(let judged) = decision.verdict { judged.map(\.verdict) } else { [] }
        }
    }

    @Test(
        "the worker grants a transaction id and keeps Apple's answer only if Apple's account token is the submission's")
    func bareID() async throws {
        try await with { bench in
            bench.apple.answer(.genuine(genuine(token: "t")))
            try await bench.work(on: bench.item(submission(.transactionID("1000"))))
            try await bench.work(on: bench.item(submission(.transactionID("1000"), token: "u"), offset: 2))
            try await bench.work(on: bench.item(submission(.transactionID("1000"), token: "t"), offset: 3))
            let credentials = try #require(ParkingBench.serverApp.serverAPI)
            let question = VerificationRequest.Subject.transaction("1000", credentials)
            #expect(bench.apple.requests.map(\.subject) == [question, question, question])
            let mismatch = JudgedPurchase.Verdict.reject(.bindingMismatch)
            #expect(verdicts(bench) == [mismatch, mismatch, .grant(payload: nil)])
            #expect(bench.ledger.decisions.map { $0.evidence != nil } == [false, false, true])
            #expect(bench.ledger.decisions.allSatisfy { $0.undeliveredTerms?.provesPossession == false })
        }
    }

    @Test("the worker judges an old signed transaction by Apple's current answer, and a fresh one by its own content")
    func signedTransaction() async throws {
        try await with { bench in
            var content = ProofContent(
                bundleID: ParkingBench.bundle, environment: .production, purchases: genuine().purchases,
                signedAt: WallClock.now.adding(milliseconds: -ParsedProof.freshMilliseconds - 60_000))
            let old = submission(.signedTransaction("old.b.c"))
            bench.proofs.read(old.proof, as: .read(content, .proven))
            bench.apple.answer(.genuine(genuine(cancelledAt: Self.purchasedAt)))
            try await bench.work(on: bench.item(old))
            #expect(verdicts(bench) == [.reject(.cancelled)])
            #expect(bench.apple.asked.count == 1)
            content.signedAt = WallClock.now
            let fresh = submission(.signedTransaction("fresh.b.c"))
            bench.proofs.read(fresh.proof, as: .read(content, .proven))
            try await bench.work(on: bench.item(fresh, offset: 2))
            #expect(verdicts(bench).last == .grant(payload: nil))
            #expect(bench.apple.asked.count == 1)
        }
    }

    @Test("if the worker cannot check a signed transaction's signature, it asks Apple, and requires the account token")
    func notProvable() async throws {
        try await with { bench in
            let content = ProofContent(
                bundleID: ParkingBench.bundle, environment: .production, purchases: genuine().purchases,
                signedAt: WallClock.now)
            let forged = submission(.signedTransaction("a.b.c"))
            bench.proofs.read(forged.proof, as: .read(content, .notProvable))
            bench.apple.answer(.genuine(genuine(token: "t")))
            try await bench.work(on: bench.item(forged))
            #expect(bench.apple.asked.count == 1)
            #expect(verdicts(bench) == [.reject(.bindingMismatch)])
        }
    }

    @Test(
        "an unknown transaction id is parked at the first try, and rejected as transaction_not_found at the eighth try")
    func unknown() async throws {
        try await with { bench in
            bench.apple.answer(.refused(.unknownTransaction))
            let submission = submission(.transactionID("1000"), token: "t")
            try await bench.work(on: bench.item(submission))
            let parked = try #require(bench.store.content.parked.first)
            #expect(parked.reason == .doubt && parked.detail == "transaction_not_found")
            #expect(bench.apple.asked.count == 1)
            var history = parked.history
            for asked in 2...Judge.triesForUnknownTransaction {
                #expect(bench.ledger.decisions.isEmpty)
                let leased = ParkingBench.leased(submission, .doubt, history: history)
                try await bench.work(on: SubmissionInHand(parked: leased))
                #expect(bench.apple.asked.count == asked)
                history = bench.store.content.putBack.last?.history ?? history
            }
            #expect(bench.ledger.decisions.map(\.verdict) == [.whole(.transactionNotFound, [])])
        }
    }

    @Test("Apple's failures do not count as doubtful answers; if a genuine answer comes late, the worker still grants")
    func lateAnswer() async throws {
        try await with { bench in
            let submission = submission(.transactionID("1000"), token: "t")
            let history = WaitingHistory(failures: 40, doubts: [.transactionNotFound: 6], parkings: 46)
            bench.apple.answer(.trouble(.init(.serverError)))
            let leased = ParkingBench.leased(submission, .doubt, history: history)
            try await bench.work(on: SubmissionInHand(parked: leased))
            let putBack = try #require(bench.store.content.putBack.first)
            #expect(putBack.reason == .appleTrouble && putBack.history.doubts == [.transactionNotFound: 6])
            bench.apple.answer(.genuine(genuine(token: "t")))
            let again = ParkingBench.leased(submission, .appleTrouble, history: putBack.history)
            try await bench.work(on: SubmissionInHand(parked: again))
            #expect(verdicts(bench) == [.grant(payload: nil)])
        }
    }

    @Test("if Apple refuses the API credentials, the worker parks transaction ids; only an API answer wakes the rows")
    func credentials() async throws {
        try await with { bench in
            bench.apple.answer(.blocked(.serverAPI))
            try await bench.work(on: bench.item(submission(.transactionID("1000"), token: "t")))
            #expect(bench.store.content.parked.map(\.reason) == [.blockedServerAPI])
            #expect(bench.apple.asked.count == ParkingPolicy.triesWhileBlocked)
            bench.apple.answer(ParkingBench.genuine)
            try await bench.work(on: bench.item(ParkingBench.submission("r"), offset: 2))
            #expect(bench.store.content.woken.isEmpty)
            bench.apple.answer(.genuine(genuine(token: "t")))
            try await bench.work(on: bench.item(submission(.transactionID("1001"), token: "t"), offset: 3))
            try await bench.changes.until("the app is woken") { !bench.store.content.woken.isEmpty }
            #expect(bench.store.content.wokenReasons == [ParkingReason.blockagesOfTransactions])
        }
    }

    @Test(
        "once the catalog has an app's API credentials, the worker wakes and grants a transaction that waited for them")
    func credentialsImported() async throws {
        try await with(ParkingBench.app) { bench in
            let submission = submission(.transactionID("1000"), token: "t")
            try await bench.work(on: bench.item(submission))
            #expect(bench.store.content.parked.map(\.reason) == [.blockedNoServerAPI])
            #expect(bench.apple.asked.count == 0)
            let catalog = Catalog(version: 2, apps: [ParkingBench.serverApp])
            bench.catalog.update { $0 = catalog }
            bench.worker.noteNewCredentials()
            try await bench.changes.until("the app is woken") { !bench.store.content.woken.isEmpty }
            #expect(bench.store.content.wokenReasons == [ParkingReason.blockagesOfTransactions])
            bench.apple.answer(.genuine(genuine(token: "t")))
            let leased = ParkingBench.leased(submission, .blockedNoServerAPI)
            try await bench.work(on: SubmissionInHand(parked: leased))
            #expect(verdicts(bench) == [.grant(payload: nil)])
        }
    }
}
