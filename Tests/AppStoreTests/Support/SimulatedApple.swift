import AppStore
import AppStoreSimulation
import Fulfillment
import NamesAndTimes

/// A client and the simulated App Store that the client asks.
struct SimulatedApple: Sendable {
    let store: AppStoreSimulation
    let client: VerifyReceiptClient
    let observer: RecordingObserver

    /// The client's present time, 2026-11-20T09:30:00Z.
    static let now = Timestamp(milliseconds: 1_795_167_000_000)

    /// - Parameters:
    ///   - sharedSecrets: the store's secrets, by bundle id.
    ///   - secrets: the client's secrets, by setting.
    static func run(
        timeoutSeconds: Double = 10, maxConcurrency: Int = 64, latency: SimulatedLatency = .fixed(0),
        sharedSecrets: [String: String] = [:], secrets: [String: String] = [:], limits: AppleLimits? = nil,
        now: @escaping @Sendable () -> Timestamp = { now }, logCapacity: Int = 0,
        _ body: (SimulatedApple) async throws -> Void
    ) async throws {
        var options = AppStoreSimulation.Options()
        options.sharedSecrets = sharedSecrets
        options.logCapacity = logCapacity
        let store = try await AppStoreSimulation.start(latency: latency, options: options)
        let observer = RecordingObserver()
        let client = try VerifyReceiptClient(
            settings: AppleSettings(
                productionURL: store.productionURL, sandboxURL: store.sandboxURL, timeoutSeconds: timeoutSeconds,
                maxConcurrency: maxConcurrency),
            secrets: { secrets[$0] }, limits: limits, observer: observer, now: now)
        let result: Result<Void, any Error>
        do {
            result = .success(try await body(SimulatedApple(store: store, client: client, observer: observer)))
        } catch {
            result = .failure(error)
        }
        await client.shutdown()
        try await store.shutdown()
        try result.get()
    }

    func ask(
        _ receipt: String, secret: String? = nil, bundleID: BundleID = "com.example.game", player: PlayerID? = nil,
        isRetry: Bool = false, isProven: Bool = false, waiting: (@Sendable (Bool) -> Void)? = nil
    ) async -> AppleAnswer {
        var request = VerificationRequest(bundleID: bundleID, receipt: receipt, sharedSecretSetting: secret)
        request.playerID = player
        request.isRetry = isRetry
        request.isProven = isProven
        request.waiting = waiting
        return await client.verify(request)
    }

    /// Returns a receipt with one purchase of this id. The steps are the store's answers to the receipt, in order.
    static func receipt(
        _ id: String = "1000", environment: SimulatedEnvironment = .production, _ steps: SimulatedStep...
    ) -> String {
        SimulatedReceipt(
            bundleID: "com.example.game", appAppleID: 77, environment: environment,
            purchases: [SimulatedPurchase(transactionID: id, productID: "gold", quantity: 2)],
            behaviour: steps.isEmpty ? nil : SimulatedBehaviour(steps)
        ).base64Encoded()
    }
}

extension AppleAnswer {
    static func trouble(of kind: TroubleKind) -> AppleAnswer { .trouble(.init(kind)) }

    var genuine: GenuineReceipt? {
        if case .genuine(let receipt) = self { receipt } else { nil }
    }
}
