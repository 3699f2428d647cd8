import AppStore
import AppStoreSimulation
import Fulfillment
import NamesAndTimes
import Testing

@Suite("The verifyReceipt client's switch between Apple's environments")
struct EnvironmentSwitchTests {
    @Test("The verifyReceipt client asks Production about a sandbox receipt, and then asks the sandbox")
    func sandboxReceipt() async throws {
        try await SimulatedApple.run { apple in
            let receipt = await apple.ask(SimulatedApple.receipt(environment: .sandbox)).genuine
            #expect(receipt?.environment == .sandbox)
            #expect(receipt?.appAppleID == nil)
            #expect(receipt?.purchases.map(\.transactionID) == ["1000"])
            #expect(apple.observer.results == ["Production other_environment", "Sandbox genuine"])
        }
    }

    @Test(
        "If Apple's environments refer to each other, the client returns trouble after one request to each",
        arguments: [21007, 21008])
    func loop(status: Int) async throws {
        try await SimulatedApple.run { apple in
            #expect(await apple.ask(SimulatedApple.receipt("1", .status(status))) == .trouble(of: .environmentLoop))
            #expect(apple.store.counters.productionRequests == 1)
            #expect(apple.store.counters.sandboxRequests == 1)
        }
    }

    @Test(
        "After 21007 from Production, the verifyReceipt client returns the sandbox's answer",
        arguments: [21002, 21005, 21004])
    func afterSwitch(status: Int) async throws {
        try await SimulatedApple.run { apple in
            let receipt = SimulatedApple.receipt(
                "1", .status(21007).only(in: .production), .status(status).only(in: .sandbox))
            let same = await apple.ask(SimulatedApple.receipt("2", .status(status)))
            #expect(await apple.ask(receipt) == same)
            #expect(apple.store.counters.sandboxRequests == 1)
        }
    }
}
