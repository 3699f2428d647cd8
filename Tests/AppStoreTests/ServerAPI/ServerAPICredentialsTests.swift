import AppStore
import AppStoreSimulation
import Fulfillment
import NamesAndTimes
import Testing

@Suite("Credentials for the App Store Server API")
struct ServerAPICredentialsTests {
    private static let bundle = SimulatedServerAPI.bundle

    @Test(
        "if an app's API key is missing or malformed, the client blocks the app without a request",
        arguments: ["", "no key"])
    func missing(key: String) async throws {
        let observer = RecordingLimits()
        let limits = AppleLimits(maxConcurrency: 8, observer: observer)
        try await SimulatedServerAPI.run(keys: ["KEY": key], limits: limits) { apple in
            #expect(await apple.ask("1000") == .blocked(.serverAPI))
            #expect(apple.store.counters.requests == 0)
            let told = try #require(observer.heard.faults[Self.bundle]?[ServerAPIClient.endpoint])
            #expect(told.setting == "KEY" && told.refusal == nil)
            // The fault stays while the app has credentials, and ends once the app has none.
            limits.keepCredentials(of: [Self.bundle], endpoint: ServerAPIClient.endpoint)
            #expect(observer.heard.misconfigured == [Self.bundle])
            limits.keepCredentials(of: [], endpoint: ServerAPIClient.endpoint)
            #expect(observer.heard.misconfigured.isEmpty)
        }
    }

    @Test("the API client reports an app's first 401, stops after the second, and resumes once Apple accepts the token")
    func unauthorized() async throws {
        let observer = RecordingLimits()
        let clock = SteppedClock()
        let limits = AppleLimits(maxConcurrency: 8, observer: observer, now: { clock.now })
        try await SimulatedServerAPI.run(limits: limits) { apple in
            try apple.register("1", .status(401).times(2), .genuine)
            try apple.register("2")
            #expect(await apple.ask("1", player: "p") == .blocked(.serverAPI))
            #expect(observer.heard.misconfigured == [Self.bundle])
            #expect(await apple.ask("1", player: "p") == .blocked(.serverAPI))
            #expect(await apple.ask("2", player: "q") == .blocked(.serverAPI))
            #expect(apple.store.counters.requests == 2)
            clock.advance(seconds: CredentialsState.probeSeconds)
            // Apple does not know the id, but accepts the token.
            #expect(await apple.ask("3", player: "r") == .refused(.unknownTransaction))
            #expect(observer.heard.misconfigured.isEmpty)
            #expect(await apple.ask("2", player: "q").genuine != nil)
        }
    }

    @Test("401s for unproven ids do not mark an app misconfigured while Apple accepts the app's token for other ids")
    func inventedUnauthorized() async throws {
        let observer = RecordingLimits()
        try await SimulatedServerAPI.run(limits: AppleLimits(maxConcurrency: 8, observer: observer)) { apple in
            try apple.register("1")
            for number in 100..<110 {
                try apple.register("\(number)", .status(401).times(100))
                let answer = await apple.ask("\(number)", player: Identifier("forger \(number)"), isProven: false)
                #expect(answer == .trouble(of: .credentials))
            }
            #expect(observer.heard.misconfigured.isEmpty)
            #expect(await apple.ask("1", player: "honest").genuine != nil)
        }
    }

    @Test("from two unproven ids, with two requests for each, the API client detects a key that Apple does not know")
    func wrongKey() async throws {
        let observer = RecordingLimits()
        try await SimulatedServerAPI.run(
            knownKeyID: "OTHER", limits: AppleLimits(maxConcurrency: 8, observer: observer)
        ) { apple in
            for number in 0..<10 {
                #expect(await apple.ask("\(number)", player: "p", isProven: false) == .blocked(.serverAPI))
            }
            let told = try #require(observer.heard.faults[Self.bundle]?[ServerAPIClient.endpoint])
            #expect(told.setting == "KEY" && told.refusal == .serverAPI)
            // The client asks about two ids, and after each id sends a request of its own.
            #expect(apple.store.counters.requests == 2 * CredentialsState.certainRefusalsNeeded)
        }
    }

    @Test("after a single 401 between other answers, the API client does not hold the app's requests back")
    func single() async throws {
        let observer = RecordingLimits()
        try await SimulatedServerAPI.run(limits: AppleLimits(maxConcurrency: 8, observer: observer)) { apple in
            for round in 1...10 {
                try apple.register("\(round)", .status(401), .genuine)
                #expect(await apple.ask("\(round)") == .blocked(.serverAPI))
                #expect(await apple.ask("\(round)").genuine != nil)
                #expect(observer.heard.misconfigured.isEmpty)
            }
        }
    }

    @Test("if only the sandbox refuses an API token, the client returns trouble, and the app is not misconfigured")
    func sandbox() async throws {
        let observer = RecordingLimits()
        try await SimulatedServerAPI.run(limits: AppleLimits(maxConcurrency: 8, observer: observer)) { apple in
            for number in 0..<10 {
                try apple.register(
                    "\(number)", environment: "Sandbox", .status(4_040_010).only(in: .production),
                    .status(401).only(in: .sandbox))
                #expect(await apple.ask("\(number)", player: "p") == .trouble(of: .status))
            }
            #expect(observer.heard.misconfigured.isEmpty)
        }
    }

    @Test("sixty players' invented transaction ids neither open a circuit nor mark the app misconfigured")
    func inventedIDs() async throws {
        let observer = RecordingLimits()
        try await SimulatedServerAPI.run(limits: AppleLimits(maxConcurrency: 8, observer: observer)) { apple in
            try apple.register("1")
            for number in 100..<160 {
                let answer = await apple.ask("\(number)", player: Identifier("forger \(number)"))
                #expect(answer == .refused(.unknownTransaction))
            }
            #expect(await apple.ask("1", player: "honest").genuine != nil)
            #expect(observer.heard.misconfigured.isEmpty && observer.heard.circuitsOpened == 0)
        }
    }

    @Test("if an API token has a wrong key id, issuer or app, the client returns a blocked answer")
    func wrongClaims() async throws {
        try await SimulatedServerAPI.run { apple in
            try apple.register("1000")
            var other = SimulatedServerAPI.credentials
            other.keyID = "OTHER"
            #expect(await apple.ask("1000", other) == .blocked(.serverAPI))
            other = SimulatedServerAPI.credentials
            other.issuerID = "other"
            #expect(await apple.ask("1000", other) == .blocked(.serverAPI))
            #expect(await apple.ask("1000", bundle: "com.example.other") == .blocked(.serverAPI))
            #expect(await apple.ask("1000").genuine != nil)
        }
    }
}
