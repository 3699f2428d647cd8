import AppStore
import AppStoreSimulation
import Foundation
import Fulfillment
import NamesAndTimes
import Testing

@Suite("The client of the App Store Server API")
struct ServerAPIClientTests {
    @Test("the API client asks about a transaction of Production once, and returns the account token in lower case")
    func production() async throws {
        try await SimulatedServerAPI.run { apple in
            try apple.register("1000")
            let receipt = try #require(await apple.ask("1000").genuine)
            #expect(receipt.environment == .production && receipt.bundleID == SimulatedServerAPI.bundle)
            #expect(receipt.purchases.map(\.transactionID) == ["1000"])
            #expect(receipt.purchases.first?.quantity == 2)
            #expect(receipt.purchases.first?.appAccountToken == "3c9e6679-7425-40de-944b-e07fc1f90ae7")
            #expect(apple.observer.results == ["Production genuine"])
            #expect(apple.observer.requests.map(\.endpoint) == [ServerAPIClient.endpoint])
        }
    }

    @Test("after 4040010 from Production the API client asks the sandbox; after a second 4040010 it refuses the id")
    func sandbox() async throws {
        try await SimulatedServerAPI.run { apple in
            try apple.register("1000", environment: "Sandbox")
            #expect(await apple.ask("1000").genuine?.environment == .sandbox)
            #expect(await apple.ask("2000") == .refused(.unknownTransaction))
            #expect(
                apple.observer.results == [
                    "Production not_found", "Sandbox genuine", "Production not_found", "Sandbox not_found",
                ])
        }
    }

    static let codes: [(Int, AppleAnswer)] = [
        (4_000_006, .refused(.invalidTransaction)), (4_040_002, .trouble(of: .status)),
        (4_040_004, .trouble(of: .status)), (4_040_006, .trouble(of: .status)), (4_000_000, .trouble(of: .status)),
        (4_040_001, .trouble(of: .status)), (5_000_000, .trouble(of: .serverError)),
        (5_000_001, .trouble(of: .serverError)), (4_290_000, .trouble(of: .rateLimited)),
        (401, .blocked(.serverAPI)),
    ]

    @Test(
        "the API client maps each error code about a transaction to an answer, and asks the sandbox only after 4040010",
        arguments: codes)
    func errorCodes(code: Int, answer: AppleAnswer) async throws {
        try await SimulatedServerAPI.run { apple in
            try apple.register("1000", .status(code), .genuine)
            #expect(await apple.ask("1000") == answer)
            #expect(apple.observer.requests.map(\.environment) == [.production])
        }
    }

    @Test("a body that is no answer of the App Store Server API counts as trouble")
    func noAnswer() async throws {
        try await SimulatedServerAPI.run { apple in
            let steps: [(SimulatedStep, AppleAnswer.TroubleKind)] = [
                (SimulatedStep(.html), .notJSON), (SimulatedStep(.garbage), .connection),
                (SimulatedStep(.close), .connection), (SimulatedStep(.halfBody), .connection),
                (SimulatedStep(.json("{}", httpStatus: 200)), .incomplete),
                (SimulatedStep(.json("[]", httpStatus: 404)), .notJSON),
                (SimulatedStep(.json("{}", httpStatus: 404)), .status),
                (SimulatedStep(.json("{\"errorCode\":4040010}", httpStatus: 500)), .serverError),
                (SimulatedStep(.json("{\"signedTransactionInfo\":\"a.b.c\"}", httpStatus: 200)), .unproven),
            ]
            for (index, (step, kind)) in steps.enumerated() {
                try apple.register("\(index)", step)
                #expect(await apple.ask("\(index)") == .trouble(of: kind), "\(step)")
            }
        }
    }

    /// The test sends only this request, because on a busy machine other requests would exceed so short a time-out.
    @Test("if the App Store Server API does not answer within the time-out, the client returns trouble")
    func hang() async throws {
        try await SimulatedServerAPI.run(timeoutSeconds: 0.3) { apple in
            try apple.register("1000", SimulatedStep(.hang))
            #expect(await apple.ask("1000") == .trouble(of: .timeout))
        }
    }

    @Test("an API answer is trouble if Apple did not sign it, or if it is about another transaction or from Xcode")
    func unproven() async throws {
        try await SimulatedServerAPI.run { apple in
            func answer(_ id: String, _ text: String) {
                apple.store.register(
                    SimulatedTransaction(
                        transactionID: id,
                        behaviour: [SimulatedStep(.json("{\"signedTransactionInfo\":\"\(text)\"}", httpStatus: 200))]))
            }
            let genuine = try SimulatedServerAPI.signed("1").split(separator: ".")
            let other = try SimulatedServerAPI.signed("2").split(separator: ".")
            answer("1", "\(genuine[0]).\(genuine[1]).\(other[2])")
            answer("2", "\(genuine[0]).\(genuine[1]).\(genuine[2])")
            answer("3", try SimulatedServerAPI.signed("3", environment: "Xcode"))
            for id in ["1", "2", "3"] { #expect(await apple.ask(id) == .trouble(of: .unproven)) }
        }
    }

    @Test("an API answer about another app's transaction is genuine, and has the other app's bundle id")
    func foreign() async throws {
        try await SimulatedServerAPI.run { apple in
            let text = try SimulatedServerAPI.signed("1", bundle: "com.example.other")
            apple.store.register(
                SimulatedTransaction(
                    transactionID: "1",
                    behaviour: [SimulatedStep(.json("{\"signedTransactionInfo\":\"\(text)\"}", httpStatus: 200))]))
            #expect(await apple.ask("1").genuine?.bundleID == "com.example.other")
        }
    }

    @Test(
        "the API client sends no request for a transaction id that would change the request's URL",
        arguments: ["../v2/history/1", "1?x=1", "1\r\nx:1", "", "é"])
    func hostileIDs(id: String) async throws {
        try await SimulatedServerAPI.run { apple in
            #expect(await apple.ask(id) == .refused(.invalidTransaction))
            #expect(apple.store.counters.connections == 0)
        }
    }

    @Test("a 429 of the API with Retry-After in UNIX milliseconds sets the earliest time of the next try")
    func retryAfter() async throws {
        try await SimulatedServerAPI.run { apple in
            let until = Timestamp.now.adding(milliseconds: 60_000)
            let step = SimulatedStep(
                .http(429, headers: ["Retry-After": "\(until.milliseconds)"], body: "{\"errorCode\":4290000}"))
            try apple.register("1000", step)
            #expect(await apple.ask("1000") == .trouble(.init(.rateLimited, retryNotBefore: until)))
        }
    }

    @Test("after its shutdown the API client sends no request")
    func shutdown() async throws {
        try await SimulatedServerAPI.run { apple in
            await apple.client.shutdown()
            #expect(await apple.ask("1000") == .trouble(of: .connection))
        }
    }

    @Test("if an address of the App Store Server API is invalid, the error names the address's setting")
    func addresses() throws {
        let settings = AppleSettings(serverAPISandboxURL: "ftp://apple.com")
        #expect(throws: AppleSettingsFault.notAnHTTPURL(setting: "APPLE_SERVER_API_SANDBOX_URL")) {
            try ServerAPIClient(settings: settings, secrets: { _ in nil }, proofs: try SimulatedServerAPI.proofs.get())
        }
    }
}

extension Timestamp {
    /// The time of the clock that the client reads.
    fileprivate static var now: Timestamp {
        Timestamp(milliseconds: Int64(Date.now.timeIntervalSince1970 * 1000))
    }
}
