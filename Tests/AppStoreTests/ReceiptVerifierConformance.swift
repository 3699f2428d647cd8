import AppStore
import AppStoreSimulation
import Fulfillment
import NamesAndTimes
import TestSupport
import Testing

@Suite("Conformance: receipt verifiers for receipts and transactions, and the test double")
struct ReceiptVerifierConformance {
    enum Implementation: String, CaseIterable, Sendable {
        case verifyReceiptClient
        case appStoreClientForReceipts
        case appStoreClientForTransactions
        case scripted
    }

    /// A verifier, and proofs for which its answers are known.
    struct Subject: Sendable {
        let verifier: any ReceiptVerifier
        let bundle: BundleID
        let genuine: VerificationRequest
        let troubled: VerificationRequest
        let silent: VerificationRequest
        let troubledOnce: VerificationRequest
        let unknown: VerificationRequest
        let trouble: AppleAnswer
        let refusal: AppleAnswer
        /// Waits until the verifier asks about `silent`, the proof that Apple never answers.
        let silence: @Sendable () async -> Void

        func ask(_ request: VerificationRequest) async -> AppleAnswer { await verifier.verify(request) }
    }

    private func withSubject(_ implementation: Implementation, _ body: (Subject) async throws -> Void) async throws {
        switch implementation {
        case .verifyReceiptClient:
            try await SimulatedApple.run { apple in
                try await body(Self.ofReceipts(apple.client) { await apple.store.waitUntilAsked() })
            }
        case .appStoreClientForReceipts:
            try await withAppStoreClient { client, receipts, _ in
                try await body(Self.ofReceipts(client) { await receipts.store.waitUntilAsked() })
            }
        case .appStoreClientForTransactions:
            try await withAppStoreClient { client, _, transactions in
                try await body(Self.ofTransactions(client, transactions))
            }
        case .scripted:
            let verifier = ScriptedVerifier()
            let subject = Self.ofReceipts(verifier) {
                while verifier.count(Self.silentReceipt) == 0 { await Task.yield() }
            }
            let genuine = AppleAnswer.genuine(
                GenuineReceipt(bundleID: subject.bundle, environment: .production, purchases: []))
            verifier.script(subject.genuine.receipt ?? "", [genuine])
            verifier.script(subject.troubled.receipt ?? "", [subject.trouble])
            verifier.script(subject.troubledOnce.receipt ?? "", [subject.trouble, genuine])
            verifier.hold(Self.silentReceipt)
            try await body(subject)
        }
    }

    private func withAppStoreClient(
        _ body: (AppStoreClient, SimulatedApple, SimulatedServerAPI) async throws -> Void
    ) async throws {
        try await SimulatedApple.run { receipts in
            try await SimulatedServerAPI.run { transactions in
                try await body(
                    AppStoreClient(receipts: receipts.client, transactions: transactions.client), receipts,
                    transactions)
            }
        }
    }

    private static let silentReceipt = SimulatedApple.receipt("3", .hang)

    private static func ofReceipts(
        _ verifier: any ReceiptVerifier, _ silence: @escaping @Sendable () async -> Void
    ) -> Subject {
        func request(_ receipt: String) -> VerificationRequest {
            VerificationRequest(bundleID: "com.example.game", receipt: receipt, sharedSecretSetting: nil)
        }
        return Subject(
            verifier: verifier, bundle: "com.example.game", genuine: request(SimulatedApple.receipt("1")),
            troubled: request(SimulatedApple.receipt("2", .status(21005))), silent: request(silentReceipt),
            troubledOnce: request(SimulatedApple.receipt("4", .status(21009), .genuine)),
            unknown: request("bm90IGEgcmVjZWlwdA=="), trouble: .trouble(of: .status), refusal: .refused(.malformed),
            silence: silence)
    }

    private static func ofTransactions(
        _ verifier: any ReceiptVerifier, _ apple: SimulatedServerAPI
    ) throws -> Subject {
        func request(_ id: StoreTransactionID) -> VerificationRequest {
            VerificationRequest(
                bundleID: SimulatedServerAPI.bundle, subject: .transaction(id, SimulatedServerAPI.credentials))
        }
        try apple.register("1")
        try apple.register("2", .status(5_000_001))
        try apple.register("3", .hang)
        try apple.register("4", .status(5_000_001), .genuine)
        return Subject(
            verifier: verifier, bundle: SimulatedServerAPI.bundle, genuine: request("1"), troubled: request("2"),
            silent: request("3"), troubledOnce: request("4"), unknown: request("99"),
            trouble: .trouble(of: .serverError), refusal: .refused(.unknownTransaction),
            silence: { await apple.store.waitUntilAsked() })
    }

    @Test("a receipt verifier returns the same genuine answer at every call", arguments: Implementation.allCases)
    func genuine(implementation: Implementation) async throws {
        try await withSubject(implementation) { subject in
            let first = await subject.ask(subject.genuine)
            #expect(first.genuine?.bundleID == subject.bundle)
            #expect(await subject.ask(subject.genuine) == first)
        }
    }

    @Test("a receipt verifier refuses a proof that Apple does not know", arguments: Implementation.allCases)
    func unknown(implementation: Implementation) async throws {
        try await withSubject(implementation) { subject in
            #expect(await subject.ask(subject.unknown) == subject.refusal)
        }
    }

    @Test(
        "a receipt verifier returns trouble as a value, and asks Apple again at the next call",
        arguments: Implementation.allCases)
    func trouble(implementation: Implementation) async throws {
        try await withSubject(implementation) { subject in
            #expect(await subject.ask(subject.troubled) == subject.trouble)
            #expect(await subject.ask(subject.troubledOnce) == subject.trouble)
            #expect(await subject.ask(subject.troubledOnce).genuine != nil)
        }
    }

    @Test(
        "each of 100 simultaneous calls of a receipt verifier gets the answer about its own proof",
        arguments: Implementation.allCases)
    func concurrent(implementation: Implementation) async throws {
        try await withSubject(implementation) { subject in
            await withTaskGroup(of: Bool.self) { group in
                for number in 0..<100 {
                    group.addTask {
                        let isGenuine = number % 2 == 0
                        let answer = await subject.ask(isGenuine ? subject.genuine : subject.troubled)
                        return isGenuine ? answer.genuine != nil : answer == subject.trouble
                    }
                }
                for await isRight in group { #expect(isRight) }
            }
        }
    }

    @Test("a cancelled call of a receipt verifier returns trouble", arguments: Implementation.allCases)
    func cancellation(implementation: Implementation) async throws {
        try await withSubject(implementation) { subject in
            let task = Task { await subject.ask(subject.silent) }
            await subject.silence()
            task.cancel()
            #expect(await task.value == .trouble(of: .connection))
        }
    }
}

extension AppStoreSimulation {
    /// Waits until a request is under way.
    fileprivate func waitUntilAsked() async { await waitUntil { $0.concurrentRequests == 1 } }
}
