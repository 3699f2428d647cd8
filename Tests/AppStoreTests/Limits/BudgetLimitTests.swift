import AppStore
import AppStoreSimulation
import Fulfillment
import NamesAndTimes
import TestSupport
import Testing

@Suite("The fleet's budget of requests to Apple")
struct BudgetLimitTests {
    @Test(
        "in any second two replicas together send Apple at most 1.7 times the rate; the sandbox's rate is a tenth",
        arguments: [
            (SimulatedEnvironment.production, 100.0, 150), (.sandbox, 200.0, 30),
        ])
    func rate(environment: SimulatedEnvironment, perSecond: Double, count: Int) async throws {
        let budget = InMemoryBudget()
        let observer = RecordingLimits()
        func limits() -> AppleLimits {
            AppleLimits(
                maxConcurrency: 64, maxRequestsPerSecond: perSecond, budget: budget, observer: observer)
        }
        try await SimulatedApple.run(limits: limits(), logCapacity: 1_000) { apple in
            let other = try VerifyReceiptClient(
                settings: AppleSettings(productionURL: apple.store.productionURL, sandboxURL: apple.store.sandboxURL),
                secrets: { _ in nil }, limits: limits())
            await withTaskGroup(of: AppleAnswer.self) { group in
                for number in 0..<count {
                    let receipt = SimulatedApple.receipt("\(number)", environment: environment)
                    group.addTask {
                        if number % 2 == 0 { return await apple.ask(receipt) }
                        return await other.verify(
                            VerificationRequest(
                                bundleID: "com.example.game", receipt: receipt, sharedSecretSetting: nil))
                    }
                }
                for await answer in group { #expect(answer.genuine != nil) }
            }
            let times = apple.store.requestLog.filter { $0.endpoint == environment }.map(\.timestampMilliseconds)
            let allowed = environment == .production ? perSecond : perSecond / 10
            for start in times {
                let within = times.filter { $0 >= start && $0 < start + 1000 }.count
                // One second may have the requests of the slices within it, and of two slices that only overlap it.
                // Some requests come late, by a slice's grace time or by a slow thread.
                #expect(Double(within) <= allowed * 1.7 + 1)
            }
            #expect(observer.heard.waits > 0)
            await other.shutdown()
        }
    }
}
