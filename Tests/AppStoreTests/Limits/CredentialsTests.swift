import AppStore
import AppStoreSimulation
import Fulfillment
import NamesAndTimes
import Testing

@Suite("Wrong shared secrets of apps")
struct CredentialsTests {
    private static func run(_ body: (SimulatedApple, RecordingLimits) async throws -> Void) async throws {
        let observer = RecordingLimits()
        let limits = AppleLimits(maxConcurrency: 8, observer: observer)
        try await SimulatedApple.run(
            sharedSecrets: ["com.example.game": "right"], secrets: ["WRONG": "wrong", "RIGHT": "right"], limits: limits
        ) { apple in try await body(apple, observer) }
    }

    @Test(
        "if Apple answers 21004 to one player's receipts, the client blocks neither the app nor other players' receipts",
        arguments: [true, false])
    func onePlayer(isProven: Bool) async throws {
        try await Self.run { apple, observer in
            for number in 0..<30 {
                let answer = await apple.ask(
                    SimulatedApple.receipt("\(number)"), secret: "WRONG", player: "forger", isProven: isProven)
                #expect(answer == (isProven ? .blocked(.sharedSecret) : .trouble(of: .credentials)))
            }
            #expect(apple.store.counters.requests == 30)
            #expect(observer.heard.doubted.isEmpty)
            #expect(await apple.ask(SimulatedApple.receipt("100"), secret: "RIGHT", player: "honest").genuine != nil)
        }
    }

    @Test("after 21004 or 21000 for 1,500 unproven receipts, the client suspects the secret, but holds no receipt back")
    func notProven() async throws {
        try await Self.run { apple, observer in
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<1_500 {
                    group.addTask {
                        let receipt = SimulatedApple.receipt(
                            "\(number)", .status(number.isMultiple(of: 2) ? 21004 : 21000))
                        let player = PlayerID("forger \(number)")
                        #expect(await apple.ask(receipt, secret: "RIGHT", player: player) == .trouble(of: .credentials))
                    }
                }
            }
            #expect(apple.store.counters.requests == 1_500)
            #expect(observer.heard.misconfigured.isEmpty && observer.heard.openCircuits.isEmpty)
            #expect(observer.heard.doubted == ["com.example.game"])
            for number in 0..<10 {
                let honest = await apple.ask(
                    SimulatedApple.receipt("9\(number)"), secret: "RIGHT", player: "honest", isProven: true)
                #expect(honest.genuine != nil)
            }
            #expect(observer.heard.doubted.isEmpty)
        }
    }

    @Test("after 21004 for several players' proven receipts, the client blocks the players' app, and no other app")
    func severalPlayers() async throws {
        try await Self.run { apple, observer in
            for number in 0..<30 {
                let answer = await apple.ask(
                    SimulatedApple.receipt("\(number)"), secret: "WRONG", player: Identifier("player \(number)"),
                    isProven: true)
                #expect(answer == .blocked(.sharedSecret))
            }
            #expect(apple.store.counters.requests == CredentialsState.playersWithoutSuccess)
            #expect(
                observer.heard.faults == [
                    "com.example.game": [
                        "verifyReceipt": CredentialsFault(
                            endpoint: "verifyReceipt", setting: "WRONG", refusal: .sharedSecret)
                    ]
                ])
            // Apple takes the app from the receipt, so this receipt has the bundle id of the other app.
            let other = SimulatedReceipt(
                bundleID: "com.example.other", appAppleID: 78, environment: .production,
                purchases: [SimulatedPurchase(transactionID: "7", productID: "gold", quantity: 1)], behaviour: nil
            ).base64Encoded()
            #expect(await apple.ask(other, secret: "WRONG", bundleID: "com.example.other").genuine != nil)
            #expect(observer.heard.openCircuits.isEmpty)
        }
    }

    @Test("if a shared secret is not set, the client sends no request, and reports the fault until the secret is set")
    func missing() async throws {
        try await Self.run { apple, observer in
            #expect(await apple.ask(SimulatedApple.receipt("1"), secret: "NOWHERE") == .blocked(.sharedSecret))
            #expect(apple.store.counters.requests == 0)
            let missing = CredentialsFault(endpoint: "verifyReceipt", setting: "NOWHERE", refusal: nil)
            #expect(observer.heard.faults == ["com.example.game": ["verifyReceipt": missing]])
            #expect(await apple.ask(SimulatedApple.receipt("1"), secret: "RIGHT").genuine != nil)
            #expect(observer.heard.misconfigured.isEmpty)
        }
    }

    @Test("the sentence about a fault of credentials names the setting, the cause and the remedy")
    func sentences() {
        func sentence(_ endpoint: String, _ setting: String?, _ refusal: AppleAnswer.Blockage?) -> String {
            CredentialsFault(endpoint: endpoint, setting: setting, refusal: refusal).sentence
        }
        let (receipts, transactions) = (VerifyReceiptClient.endpoint, ServerAPIClient.endpoint)
        for (sentence, words) in [
            (sentence(receipts, "GAME_SECRET", nil), ["GAME_SECRET", "shared_secret_setting", "not set", "give"]),
            (sentence(receipts, "GAME_SECRET", .sharedSecret), ["GAME_SECRET", "refuses", "21004", "compare"]),
            (sentence(receipts, nil, .sharedSecret), ["21004", "names none", "give the app a shared_secret_setting"]),
            (sentence(receipts, "GAME_SECRET", .request), ["21000", "proxy"]),
            (sentence(transactions, "GAME_KEY", nil), ["GAME_KEY", "private_key_setting", "no private key", "give"]),
            (
                sentence(transactions, "GAME_KEY", .serverAPI),
                ["GAME_KEY", "refuses", "401", "compare issuer_id, key_id"]
            ),
        ] {
            for word in words { #expect(sentence.contains(word), "\(sentence)") }
        }
    }
}
