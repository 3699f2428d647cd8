import AppStore
import AppStoreSimulation
import Fulfillment
import Testing

@Suite("Apps' shared secrets in verifyReceipt requests")
struct SharedSecretTests {
    @Test("The verifyReceipt client sends an app's shared secret unchanged, even with special characters")
    func right() async throws {
        let secret = "s3\"cr\\et\n\u{1}é"
        try await SimulatedApple.run(sharedSecrets: ["com.example.game": secret], secrets: ["GAME_SECRET": secret]) {
            #expect(await $0.ask(SimulatedApple.receipt(), secret: "GAME_SECRET").genuine != nil)
        }
    }

    @Test("A wrong shared secret gives a blocked answer; a missing or empty one does so without a request")
    func wrong() async throws {
        try await SimulatedApple.run(
            sharedSecrets: ["com.example.game": "right"], secrets: ["GAME_SECRET": "wrong", "EMPTY": ""]
        ) { apple in
            #expect(await apple.ask(SimulatedApple.receipt(), secret: "GAME_SECRET") == .blocked(.sharedSecret))
            #expect(apple.store.counters.requests == 1)
            #expect(await apple.ask(SimulatedApple.receipt(), secret: "NOWHERE") == .blocked(.sharedSecret))
            #expect(await apple.ask(SimulatedApple.receipt(), secret: "EMPTY") == .blocked(.sharedSecret))
            #expect(apple.store.counters.requests == 1)
            #expect(apple.observer.results == ["Production blocked"])
        }
    }

    @Test(
        "The client escapes quotes and control characters in a receipt, and verifyReceipt calls the receipt malformed")
    func escaping() async throws {
        try await SimulatedApple.run { apple in
            #expect(await apple.ask("\",\"password\":\"\\\u{0}") == .refused(.malformed))
        }
    }
}
