import AppStore
import AppStoreSimulation
import Fulfillment
import Identifiers
import Testing

/// What every `ReceiptVerifier` promises, the test double included.
@Suite("Every receipt verifier")
struct ReceiptVerifierConformance {
    enum Implementation: String, CaseIterable, Sendable {
        case verifyReceiptClient
        case scripted
    }

    /// A verifier, and receipts that it answers in known ways.
    struct Subject: Sendable {
        let verifier: any ReceiptVerifier
        let genuine = SimulatedApple.receipt("1")
        let troubled = SimulatedApple.receipt("2", .status(21005))
        let silent = SimulatedApple.receipt("3", .hang)
        let troubledOnce = SimulatedApple.receipt("4", .status(21009), .genuine)
        /// Returns once the silent receipt has been asked for.
        let silence: @Sendable () async -> Void

        func ask(_ receipt: String) async -> AppleAnswer {
            await verifier.verify(
                VerificationRequest(bundleID: "com.example.game", receipt: receipt, sharedSecretSetting: nil))
        }
    }

    private func withSubject(_ implementation: Implementation, _ body: (Subject) async throws -> Void) async throws {
        switch implementation {
        case .verifyReceiptClient:
            try await SimulatedApple.run { apple in
                try await body(
                    Subject(verifier: apple.client) { await apple.store.waitUntil { $0.concurrentRequests == 1 } })
            }
        case .scripted:
            let verifier = ScriptedVerifier()
            let subject = Subject(verifier: verifier) {
                let silent = SimulatedApple.receipt("3", .hang)
                while verifier.asked(silent) == 0 { await Task.yield() }
            }
            let receipt = AppleAnswer.genuine(
                GenuineReceipt(bundleID: "com.example.game", environment: .production, purchases: []))
            verifier.script(subject.genuine, .answer(receipt))
            verifier.script(subject.troubled, .answer(.trouble(of: .status)))
            verifier.script(subject.silent, .silence)
            verifier.script(subject.troubledOnce, .answer(.trouble(of: .status)), .answer(receipt))
            try await body(subject)
        }
    }

    @Test("tells a genuine receipt, every time it is asked", arguments: Implementation.allCases)
    func genuine(implementation: Implementation) async throws {
        try await withSubject(implementation) { subject in
            let first = await subject.ask(subject.genuine)
            #expect(first.genuine?.bundleID == "com.example.game")
            #expect(await subject.ask(subject.genuine) == first)
        }
    }

    @Test("refuses what is no receipt", arguments: Implementation.allCases)
    func malformed(implementation: Implementation) async throws {
        try await withSubject(implementation) { subject in
            #expect(await subject.ask("bm90IGEgcmVjZWlwdA==") == .refused(.malformed))
        }
    }

    @Test("gives trouble as a value, and asks again when asked again", arguments: Implementation.allCases)
    func trouble(implementation: Implementation) async throws {
        try await withSubject(implementation) { subject in
            #expect(await subject.ask(subject.troubled) == .trouble(of: .status))
            #expect(await subject.ask(subject.troubledOnce) == .trouble(of: .status))
            #expect(await subject.ask(subject.troubledOnce).genuine != nil)
        }
    }

    @Test("takes many calls at once, and keeps their answers apart", arguments: Implementation.allCases)
    func concurrent(implementation: Implementation) async throws {
        try await withSubject(implementation) { subject in
            await withTaskGroup(of: Bool.self) { group in
                for number in 0..<100 {
                    group.addTask {
                        let isGenuine = number % 2 == 0
                        let answer = await subject.ask(isGenuine ? subject.genuine : subject.troubled)
                        return isGenuine ? answer.genuine != nil : answer == .trouble(of: .status)
                    }
                }
                for await isRight in group { #expect(isRight) }
            }
        }
    }

    @Test("returns when its task is cancelled, in trouble", arguments: Implementation.allCases)
    func cancellation(implementation: Implementation) async throws {
        try await withSubject(implementation) { subject in
            let task = Task { await subject.ask(subject.silent) }
            await subject.silence()
            task.cancel()
            #expect(await task.value == .trouble(of: .connection))
        }
    }
}
