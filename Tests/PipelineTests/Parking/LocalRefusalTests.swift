import Encodings
import Fulfillment
import NamesAndTimes
import Operations
import TestSupport
import Testing

@testable import Pipeline

@Suite("Local refusals that the worker checks with Apple")
struct LocalRefusalTests {
    private func with(
        perMinute: Int = 6_000, _ body: (ParkingBench) async throws -> Void
    ) async throws {
        let bench = try ParkingBench(refusalChecksPerMinute: perMinute)
        defer { bench.close() }
        try await body(bench)
    }

    private func refused(_ name: String, as reading: ProofReading, in bench: ParkingBench) -> Submission {
        let submission = ParkingBench.submission(name, player: PlayerID("player of \(name)"))
        bench.proofs.read(submission.proof, as: reading)
        return submission
    }

    private func disputed(_ bench: ParkingBench, _ reason: Reason) -> Int {
        bench.metrics.localRefusalsDisputed.with(reason.rawValue).value
    }

    private func outcomes(_ bench: ParkingBench, _ kind: OutcomeEvent.Kind, _ reason: Reason?) -> Int {
        bench.metrics.outcomes.with(kind.rawValue, reason?.rawValue ?? "").value
    }

    @Test("if Apple finds a locally refused receipt genuine, the worker counts a dispute and makes a second decision")
    func disputed() async throws {
        try await with { bench in
            bench.apple.answer(ParkingBench.genuine)
            let forged = refused("forged", as: .read(nil, .forged), in: bench)
            try await bench.work(on: bench.item(forged))
            await bench.worker.refusals.waitUntilIdle()
            #expect(outcomes(bench, .rejected, .unauthenticReceipt) == 1)
            #expect(disputed(bench, .unauthenticReceipt) == 1 && disputed(bench, .malformedReceipt) == 0)
            let decision = try #require(bench.ledger.decisions.first)
            #expect(decision.isSecond && decision.position == ParkingBench.position(1).ofSecondDecision)
            #expect(decision.position != ParkingBench.position(1) && decision.position.offset == 1)
            guard case .each(let judged) = decision.verdict else {
                Issue.record("it is decided as a whole")
                return
            }
            #expect(judged.map(\.verdict) == [.grant(payload: nil)])
            // The bench's ledger rejects the second decision. The worker does not publish this rejection.
            #expect(outcomes(bench, .rejected, .noPurchase) == 0)
        }
    }

    @Test(
        "if Apple disputes a local refusal, the second decision follows the subscription, and orders a report to Apple")
    func followed() async throws {
        try await with { bench in
            var app = ParkingBench.serverApp
            app.products["monthly"] = Product(id: "monthly", kind: .autoRenewableSubscription)
            app.announcements.renewals = .follow
            app.announcements.finishesGrants = true
            let catalog = Catalog(version: 2, apps: [app])
            bench.catalog.update { $0 = catalog }
            let now = WallClock.now
            let period = StorePurchase(
                transactionID: "2000", originalTransactionID: "2000", productID: "monthly", purchasedAt: now,
                expiresAt: now.adding(milliseconds: 86_400_000))
            bench.apple.answer(
                .genuine(
                    GenuineReceipt(
                        bundleID: ParkingBench.bundle, environment: .production, purchases: [period],
                        holdsAutoRenewable: true)))
            try await bench.work(on: bench.item(refused("forged", as: .read(nil, .forged), in: bench)))
            await bench.worker.refusals.waitUntilIdle()
            let decision = try #require(bench.ledger.decisions.first)
            #expect(decision.isSecond && decision.finishesGrants)
            #expect(decision.subscriptions.facts.map(\.originalTransactionID) == ["2000"])
        }
    }

    @Test("a local refusal does not count as disputed if Apple refuses the receipt too, fails, or names another app")
    func agreed() async throws {
        try await with { bench in
            let foreign = GenuineReceipt(
                bundleID: "com.example.other", environment: .production,
                purchases: [
                    StorePurchase(
                        transactionID: "1", originalTransactionID: "1", productID: "gold", purchasedAt: WallClock.now)
                ])
            let answers: [AppleAnswer] = [
                .refused(.malformed), .refused(.unauthentic), .trouble(.init(.timeout)), .blocked(.sharedSecret),
                .genuine(foreign),
            ]
            for (number, answer) in answers.enumerated() {
                bench.apple.answer(answer)
                while !bench.worker.refusals.isDue { await Task.yield() }
                let submission = refused("r\(number)", as: .malformed, in: bench)
                try await bench.work(on: bench.item(submission, offset: Int64(number)))
                await bench.worker.refusals.waitUntilIdle()
                #expect(bench.apple.asked.count == number + 1)
            }
            #expect(disputed(bench, .malformedReceipt) == 0 && bench.ledger.decisions.isEmpty)
            #expect(outcomes(bench, .rejected, .malformedReceipt) == answers.count)
        }
    }

    @Test("the worker asks Apple only about plausible refused receipts, and about no more per minute than the limit")
    func sampled() async throws {
        try await with(perMinute: 1) { bench in
            let jws = Submission(
                submissionID: "j", playerID: "p", bundleID: ParkingBench.bundle, proof: .signedTransaction("a.b.c"))
            bench.proofs.read(jws.proof, as: .read(nil, .forged))
            try await bench.work(on: bench.item(jws))
            let junk = Submission(
                submissionID: "k", playerID: "p", bundleID: ParkingBench.bundle,
                proof: .receipt(Base64.encode(Array("com.urus.iap.1".utf8))))
            try await bench.work(on: bench.item(junk, offset: 2))
            await bench.worker.refusals.waitUntilIdle()
            #expect(bench.apple.asked.count == 0)
            for offset in Int64(3)...6 {
                let submission = refused("r\(offset)", as: .malformed, in: bench)
                try await bench.work(on: bench.item(submission, offset: offset))
            }
            await bench.worker.refusals.waitUntilIdle()
            #expect(bench.apple.asked.count == 1)
        }
    }

    @Test("if the worker refuses a receipt because its envelope names another store, it does not check this with Apple")
    func envelope() async throws {
        try await with { bench in
            bench.apple.answer(ParkingBench.genuine)
            let record =
                #"{"submission_id":"e","player_id":"p","bundle_id":"\#(ParkingBench.bundle)","receipt_data":"#
                + #"{"Store":"fake","Payload":"MIIB"}}"#
            let submission = try #require(
                SubmissionDecoder().decode(Array(record.utf8), signatureHeaders: []).submission)
            bench.proofs.read(submission.proof, as: .read(nil, .proven))
            try await bench.work(on: bench.item(submission))
            await bench.worker.refusals.waitUntilIdle()
            #expect(outcomes(bench, .rejected, .malformedReceipt) == 1)
            #expect(bench.apple.asked.count == 0 && disputed(bench, .malformedReceipt) == 0)
        }
    }

    @Test("a stopped worker checks no local refusal with Apple")
    func stopped() async throws {
        try await with { bench in
            await bench.worker.refusals.stop()
            try await bench.work(on: bench.item(refused("r", as: .malformed, in: bench)))
            await bench.worker.refusals.waitUntilIdle()
            #expect(bench.apple.asked.count == 0)
        }
    }

    @Test(
        "if the catalog says local_refusals: ask, the worker asks Apple before a refusal, and makes only one decision")
    func askedFirst() async throws {
        try await with { bench in
            var app = ParkingBench.app
            app.announcements.asksBeforeRefusing = true
            let catalog = Catalog(version: 2, apps: [app])
            bench.catalog.update { $0 = catalog }
            bench.apple.answer(ParkingBench.genuine)
            for (offset, reading) in [ProofReading.malformed, .read(nil, .forged)].enumerated() {
                let submission = refused("r\(offset)", as: reading, in: bench)
                try await bench.work(on: bench.item(submission, offset: Int64(offset)))
            }
            #expect(bench.apple.asked.count == 2)
            #expect(bench.ledger.decisions.map(\.isSecond) == [false, false])
            #expect(disputed(bench, .malformedReceipt) == 0)
        }
    }
}
