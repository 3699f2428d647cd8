import Foundation
import NamesAndTimes
import TestSupport
import Testing

@testable import Fulfillment

@Suite("The order of the rules")
struct RuleOrderTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// Returns the reasons in the first column of the table in docs/contract/reasons.md.
    private static func documented() throws -> [Reason] {
        let lines = try String(contentsOf: root.appending(path: "docs/contract/reasons.md"), encoding: .utf8)
            .split(separator: "\n")
        let table = lines.drop { $0 != "## Every reason, in order" }.dropFirst().prefix { !$0.hasPrefix("#") }
            .filter { $0.hasPrefix("| `") }
        return table.flatMap { line in
            line.split(separator: "|")[0].split(separator: "`").compactMap { Reason(rawValue: String($0)) }
        }
    }

    /// The reasons that a case can bring about. `too_many_waiting` needs twenty other proofs of the player that wait
    /// for Apple: PartialOutageTests of EndToEndTests covers this reason.
    static let reasonsWithCases = Reason.allCases.filter { $0 != .tooManyWaiting }

    @Test("every reason except too_many_waiting occurs in a sample case of seeds/cases", arguments: reasonsWithCases)
    func cases(reason: Reason) throws {
        let cases = Self.root.appending(path: "seeds/cases")
        let names = try FileManager.default.contentsOfDirectory(atPath: cases.path)
        let isExpected = names.contains { name in
            let expected = try? String(contentsOf: cases.appending(path: "\(name)/expected.json"), encoding: .utf8)
            return expected?.contains("\"\(reason.rawValue)\"") ?? false
        }
        #expect(isExpected, "no seeds/cases/*/expected.json has the reason \(reason.rawValue)")
    }

    @Test("the contract lists every reason, in the order in which the rules are checked")
    func contract() throws {
        let documented = try Self.documented()
        #expect(documented == [.malformedSubmission] + Rule.order + [.refusedByOperator, .refund, .revoke])
        #expect(documented.count == Reason.allCases.count)
    }

    @Test("the judge's tests list the faults of a purchase in the order of the purchase rules")
    func purchases() {
        let faults = JudgePurchaseTests.faults.map(\.verdict).map { verdict -> Reason? in
            switch verdict {
            case .grant: nil
            case .hold(let reason), .reject(let reason): reason
            }
        }
        #expect(faults == PurchaseRule.reasons)
        #expect(
            Rule.ofTransaction.filter { $0 != .revokedByOperator }
                == Rule.ofOwnership + PurchaseRule.reasons + [.dailyLimit])
    }

    /// The local faults in the contract's order. A test can combine any two faults.
    private static let localFaults: [(Reason, @Sendable (inout Local) -> Void)] = [
        (.unknownApp, { $0.bundle = "com.example.unknown" }),
        (.malformedReceipt, { $0.reading = .malformed }),
        (.foreignApp, { $0.content.bundleID = "com.example.other" }),
        (.unauthenticReceipt, { $0.signature = .forged }),
        (.sandboxNotAllowed, { $0.content.environment = .sandbox }),
    ]

    /// The facts by which a worker screens a submission. They are sound until a test adds a fault.
    private struct Local {
        var bundle = Sample.bundle
        var content = Sample.content()
        var signature = ParsedProof.Signature.notProvable
        var reading: ProofReading?

        var reason: Reason? {
            let submission = Submission(submissionID: "s", playerID: "p", bundleID: bundle, proof: .receipt("MIIB"))
            let parser = ScriptedProofs(ofEvery: reading ?? .read(content, signature))
            let screened = Screening.screen(
                submission, catalog: Catalog(version: 1, apps: [Sample.app()]), parser: parser, now: Sample.recordTime)
            return if case .rejected(let refusal, _) = screened { refusal.reason } else { nil }
        }
    }

    @Test("a submission with two local faults gets the reason of the rule that comes first")
    func local() {
        #expect(Self.localFaults.map(\.0) == Rule.local)
        #expect(Local().reason == nil)
        for (index, fault) in Self.localFaults.enumerated() {
            for later in Self.localFaults[index...] {
                var submission = Local()
                later.1(&submission)
                fault.1(&submission)
                #expect(submission.reason == fault.0, "with \(later.0)")
            }
        }
    }

    @Test("a genuine receipt with two faults gets the reason of the rule that comes first")
    func receipts() {
        let faults: [(Reason, (inout GenuineReceipt) -> Void)] = [
            (.foreignApp, { $0.bundleID = "com.example.other" }), (.sandboxNotAllowed, { $0.environment = .sandbox }),
            (.noPurchase, { $0.purchases = [] }),
            (.productMismatch, { $0.purchases = $0.purchases.isEmpty ? [] : [Sample.purchase(product: "gold.2")] }),
        ]
        let judge = Judge(
            submission: Sample.submission(productID: Sample.product), under: Sample.app().terms,
            recordTimestamp: Sample.recordTime, now: Sample.recordTime, signature: .notProvable)
        #expect(faults.map(\.0) == Rule.ofSubmission.filter { reason in faults.contains { $0.0 == reason } })
        for (index, fault) in faults.enumerated() {
            for later in faults[index...] {
                var receipt = Sample.receipt()
                later.1(&receipt)
                fault.1(&receipt)
                let judgement = judge.judge(.genuine(receipt), doubts: { _ in 2 })
                #expect(judgement == .decided(.whole(fault.0, receipt.purchases)), "with \(later.0)")
            }
        }
    }

    @Test(
        "a reason about the purchase's owner overrides every reason that the judge gives", arguments: Rule.ofOwnership)
    func ownership(reason: Reason) {
        var view = LedgerView()
        let isOwn = reason == .alreadyGranted
        let purchase = JudgePurchaseTests.Case().purchase
        view.grants[purchase.transactionID] = LedgerView.Grant(
            player: isOwn ? "player-1" : "player-2", submission: NameBasedUUID("test", "earlier"), isRevoked: false,
            event: nil, isBound: reason == .ownedByOtherPlayer)
        for fault in JudgePurchaseTests.faults {
            let decision = Sample.decision(
                .each([Sample.judged(purchase, .consumable, fault.verdict)]),
                submission: Sample.submission(token: Sample.token))
            #expect(decision.settle(in: &view).outcomes.map(\.reason) == [reason])
            view.holds = [:]
        }
    }
}
