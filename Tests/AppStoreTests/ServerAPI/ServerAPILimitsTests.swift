import AppStore
import AppStoreSimulation
import Fulfillment
import NamesAndTimes
import TestSupport
import Testing

@Suite("The limits in front of the App Store Server API")
struct ServerAPILimitsTests {
    private func scope(_ environment: StoreEnvironment) -> AppleScope {
        AppleScope(
            bundleID: SimulatedServerAPI.bundle, endpoint: ServerAPIClient.endpoint, environment: environment)
    }

    @Test(
        "after a 429 the API client holds the app's transaction requests back, and shares the hold with other replicas")
    func retryAfter() async throws {
        let observer = RecordingLimits()
        let budget = InMemoryBudget()
        let limits = AppleLimits(maxConcurrency: 8, budget: budget, observer: observer)
        try await SimulatedServerAPI.run(limits: limits) { apple in
            try apple.register(
                "1000", SimulatedStep(.http(429, headers: ["Retry-After": "3000"], body: "{\"errorCode\":4290000}")))
            guard case .trouble(let trouble) = await apple.ask("1000") else {
                Issue.record("a 429 is no trouble")
                return
            }
            #expect(trouble.kind == .rateLimited && trouble.retryNotBefore != nil)
            await observer.waitUntil { $0.holds[self.scope(.production)] != nil }
            #expect(await budget.held.stream.contains(scope(.production)))
        }
    }

    @Test("repeated failures of the App Store Server API open the circuit of the app's transaction requests")
    func circuit() async throws {
        let observer = RecordingLimits()
        try await SimulatedServerAPI.run(limits: AppleLimits(maxConcurrency: 8, observer: observer)) { apple in
            // Twenty failed players within a minute are enough. On a busy machine they may take longer than a minute.
            for number in 0..<100 where observer.heard.circuitsOpened == 0 {
                try apple.register("\(number)", .status(5_000_001))
                #expect(await apple.ask("\(number)", player: Identifier("p\(number)")) == .trouble(of: .serverError))
            }
            #expect(observer.heard.circuitsOpened == 1)
        }
    }

    @Test("if invented ids exceed the sandbox's budget, the API client sends no request for at least ten of 100 ids")
    func inventedIDs() async throws {
        let limits = AppleLimits(maxConcurrency: 64, maxRequestsPerSecond: 100, budget: InMemoryBudget())
        try await SimulatedServerAPI.run(limits: limits) { apple in
            await withTaskGroup(of: AppleAnswer.self) { group in
                for number in 0..<100 { group.addTask { await apple.ask("\(number)", isProven: false) } }
                var turnedAway = 0
                for await answer in group {
                    guard case .trouble(let trouble) = answer, trouble.kind == .rateLimited else { continue }
                    #expect(!trouble.wasAsked)
                    turnedAway += 1
                    if turnedAway == 10 { group.cancelAll() }
                }
                #expect(turnedAway >= 10)
            }
        }
    }
}
