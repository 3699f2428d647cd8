import AppStore
import AppStoreSimulation
import Fulfillment
import NamesAndTimes
import Synchronization
import Testing

@Suite("The client of verifyReceipt")
struct VerifyReceiptClientTests {
    @Test("The verifyReceipt client returns a genuine receipt with its purchases after one request")
    func genuine() async throws {
        try await SimulatedApple.run { apple in
            let answer = await apple.ask(SimulatedApple.receipt())
            let purchase = StorePurchase(
                transactionID: "1000", originalTransactionID: "1000", productID: "gold", quantity: 2,
                purchasedAt: Timestamp(milliseconds: 1_700_000_000_000))
            var receipt = GenuineReceipt(
                bundleID: "com.example.game", appAppleID: 77, environment: .production, purchases: [purchase])
            receipt.createdAt = purchase.purchasedAt
            #expect(answer == .genuine(receipt))
            #expect(apple.observer.results == ["Production genuine"])
            #expect(apple.observer.requests.allSatisfy { $0.endpoint == "verifyReceipt" && $0.seconds > 0 })
            #expect(apple.store.counters.requests == 1)
        }
    }

    @Test("The verifyReceipt client reports a request's result and environment, and Apple's status or else HTTP's")
    func ended() async throws {
        try await SimulatedApple.run { apple in
            let log = TryLog()
            for (id, step) in [("1", SimulatedStep.status(21005)), ("2", .http(503)), ("3", .html), ("4", .reset)] {
                var request = VerificationRequest(
                    bundleID: "com.example.game", receipt: SimulatedApple.receipt(id, step), sharedSecretSetting: nil)
                request.ended = { log.add($0) }
                _ = await apple.client.verify(request)
            }
            #expect(log.all.map(\.result) == ["status", "server_error", "not_json", "connection"])
            #expect(log.all.map(\.status) == [21005, 503, nil, nil])
            #expect(log.all.allSatisfy { $0.endpoint == "verifyReceipt" && $0.environment == .production })
        }
    }

    static let troubles: [(SimulatedStep, AppleAnswer)] = [
        (.status(21002), .refused(.malformed)),
        (.status(21003), .refused(.unauthentic)),
        (.status(21004), .blocked(.sharedSecret)),
        (.status(21000), .blocked(.request)),
        (.status(21005), .trouble(of: .status)),
        (.status(21010), .refused(.accountNotFound)),
        (.status(21104, isRetryable: false, keyStyle: .dash, valueStyle: .string), .refused(.refusedForGood)),
        (.status(21104, isRetryable: true, valueStyle: .number), .trouble(of: .status)),
        (.html, .trouble(of: .notJSON)),
        (.json("[]"), .trouble(of: .notJSON)),
        (.json("{}"), .trouble(of: .incomplete)),
        (.http(200), .trouble(of: .notJSON)),
        (.reset, .trouble(of: .connection)),
        (.close, .trouble(of: .connection)),
        (.halfBody, .trouble(of: .connection)),
        (.garbage, .trouble(of: .connection)),
        (.http(429), .trouble(of: .rateLimited)),
        (.http(503, body: "Service Unavailable"), .trouble(of: .serverError)),
        (.http(500, headers: ["Retry-After": "soon"]), .trouble(of: .serverError)),
        (.json(#"{"status":21010}"#, httpStatus: 502), .trouble(of: .serverError)),
        (.json(#"{"status":21010}"#, httpStatus: 403), .trouble(of: .serverError)),
        (.json(#"{"status":21010}"#, httpStatus: 201), .trouble(of: .serverError)),
        (.http(302, headers: ["Location": "/sandbox/verifyReceipt"]), .trouble(of: .serverError)),
    ]

    @Test("The verifyReceipt client maps each answer and each fault of Apple's to its result", arguments: troubles)
    func faults(step: SimulatedStep, expected: AppleAnswer) async throws {
        try await SimulatedApple.run { apple in
            #expect(await apple.ask(SimulatedApple.receipt("1", step)) == expected)
            #expect(apple.store.counters.requests == 1)
            #expect(await apple.ask(SimulatedApple.receipt("2")).genuine != nil, "the next receipt is none the worse")
        }
    }

    @Test(
        "If a verifyReceipt answer is not complete within the time-out, the client reports a time-out",
        arguments: [SimulatedStep.hang, .hangAfterHeaders, .slowDrip(milliseconds: 60_000, chunkBytes: 8)])
    func timeout(step: SimulatedStep) async throws {
        try await SimulatedApple.run(timeoutSeconds: 0.2) { apple in
            #expect(await apple.ask(SimulatedApple.receipt("1", step)) == .trouble(of: .timeout))
            #expect(apple.observer.results == ["Production timeout"])
            #expect(apple.client.gate.inUse == 0)
        }
    }

    @Test("A refused connection to verifyReceipt counts as trouble; after the outage the next request gets an answer")
    func refused() async throws {
        try await SimulatedApple.run { apple in
            #expect(await apple.ask(SimulatedApple.receipt()).genuine != nil)
            try await apple.store.setOutage(.refuse)
            #expect(await apple.ask(SimulatedApple.receipt()) == .trouble(of: .connection))
            try await apple.store.setOutage(nil)
            #expect(await apple.ask(SimulatedApple.receipt()).genuine != nil)
        }
    }

    @Test(
        "The verifyReceipt client reads the Retry-After of a 429 or 503, in each of three forms",
        arguments: [
            (["Retry-After": "30"], 30), (["Retry-After": "30", "Date": "Fri, 20 Nov 2026 09:30:10 GMT"], 40),
            (["Retry-After": "Fri, 20 Nov 2026 09:31:00 GMT"], 60), (["retry-after": "1795167090000"], 90),
            (["Retry-After": "86400"], 3600),
        ] as [([String: String], Int64)])
    func retryAfter(headers: [String: String], seconds: Int64) async throws {
        let until = SimulatedApple.now.adding(milliseconds: seconds * 1000)
        try await SimulatedApple.run { apple in
            #expect(
                await apple.ask(SimulatedApple.receipt("1", .http(429, headers: headers)))
                    == .trouble(.init(.rateLimited, retryNotBefore: until)))
            #expect(
                await apple.ask(SimulatedApple.receipt("2", .http(503, headers: headers)))
                    == .trouble(.init(.serverError, retryNotBefore: until)))
        }
    }

    @Test("A verifyReceipt answer of 17 MiB counts as trouble")
    func tooLong() async throws {
        let body = "{\"status\":21010,\"x\":\"" + String(repeating: "x", count: 17 << 20) + "\"}"
        try await SimulatedApple.run { apple in
            apple.store.setBehaviour([.json(body)])
            #expect(await apple.ask(SimulatedApple.receipt()) == .trouble(of: .incomplete))
        }
    }

    @Test("The verifyReceipt client sends a receipt of 3,000 purchases, and reads the answer")
    func large() async throws {
        let purchases = (0..<3000).map { SimulatedPurchase(transactionID: "\(500_000 + $0)", productID: "gold") }
        let receipt = SimulatedReceipt(bundleID: "com.example.game", purchases: purchases).base64Encoded()
        // Under a sanitizer the simulator needs seconds for this answer.
        try await SimulatedApple.run(timeoutSeconds: 60) { apple in
            let told = await apple.ask(receipt).genuine
            #expect(told?.purchases.count == 3000)
            #expect(told?.purchases.first?.transactionID == "500000")
        }
    }

    @Test("Twenty successive verifyReceipt requests share one connection")
    func keepAlive() async throws {
        try await SimulatedApple.run { apple in
            for number in 0..<20 { #expect(await apple.ask(SimulatedApple.receipt("\(number)")).genuine != nil) }
            #expect(apple.store.counters.connections == 1)
        }
    }

    @Test("After the verifyReceipt client's shutdown, every try ends in trouble")
    func afterShutdown() async throws {
        let client = try VerifyReceiptClient(settings: AppleSettings(), secrets: { _ in nil })
        await client.shutdown()
        let answer = await client.verify(
            VerificationRequest(bundleID: "com.example.game", receipt: "TUlJ", sharedSecretSetting: nil))
        #expect(answer == .trouble(of: .connection))
    }

    @Test(
        "If the verifyReceipt client cannot use a setting, the error names the setting or its file",
        arguments: [
            (AppleSettings(productionURL: "buy.itunes.apple.com"), "APPLE_VERIFY_RECEIPT_PRODUCTION_URL"),
            (AppleSettings(sandboxURL: "http://"), "APPLE_VERIFY_RECEIPT_SANDBOX_URL"),
            (AppleSettings(sandboxURL: "ftp://apple.com/"), "APPLE_VERIFY_RECEIPT_SANDBOX_URL"),
            (AppleSettings(timeoutSeconds: 0), "APPLE_TIMEOUT_SECONDS"),
            (AppleSettings(timeoutSeconds: .infinity), "APPLE_TIMEOUT_SECONDS"),
            (AppleSettings(maxConcurrency: 0), "APPLE_MAX_CONCURRENCY"),
            (AppleSettings(caFile: "/nowhere/roots.pem"), "/nowhere/roots.pem"),
            (AppleSettings(caFile: "/dev/null"), "/dev/null"),
        ])
    func settings(settings: AppleSettings, name: String) throws {
        let fault = #expect(throws: AppleSettingsFault.self) {
            try VerifyReceiptClient(settings: settings, secrets: { _ in nil })
        }
        #expect(fault?.description.contains(name) == true)
    }
}

private final class TryLog: Sendable {
    private let tries = Mutex<[AppleTry]>([])

    var all: [AppleTry] { tries.withLock { $0 } }
    func add(_ one: AppleTry) { tries.withLock { $0.append(one) } }
}
