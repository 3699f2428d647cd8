import AppStoreSimulation
import Foundation
import Testing

@Suite("Faults of the simulated App Store, as a client sees them", .timeLimit(.minutes(1)))
struct FaultTests {
    @Test("If a test scripts two failures for a receipt, the simulation answers from the third request on with success")
    func failThenSucceed() async throws {
        let text = receipt(behaviour: [.status(21005).times(2), .genuine]).base64Encoded()
        try await withApple { apple async throws in
            var statuses: [Int?] = []
            for _ in 0..<4 { statuses.append(try await apple.ask(text).status) }
            #expect(statuses == [21005, 21005, 0, 0])
        }
    }

    @Test("The simulation advances a script over both endpoints together, or per endpoint if a step names an endpoint")
    func counting() async throws {
        let together = receipt(behaviour: [.status(1), .status(2)]).base64Encoded()
        let apart = receipt(behaviour: [.status(3).only(in: .sandbox), .status(4), .status(5)]).base64Encoded()
        try await withApple { apple async throws in
            #expect(try await apple.ask(together).status == 1)
            #expect(try await apple.ask(together, at: .sandbox).status == 2)
            #expect(try await apple.ask(apart, at: .sandbox).status == 3)
            #expect(try await apple.ask(apart).status == 4)
            #expect(try await apple.ask(apart, at: .sandbox).status == 4)
            #expect(try await apple.ask(apart).status == 5)
        }
    }

    @Test("The simulation writes is_retryable in each spelling that a test scripts")
    func retryFlag() async throws {
        try await withApple { apple async throws in
            let expected: [(SimulatedStep, String)] = [
                (.status(21104, isRetryable: true), #""is_retryable":true"#),
                (.status(21104, isRetryable: false, keyStyle: .dash), #""is-retryable":false"#),
                (.status(21104, isRetryable: true, valueStyle: .number), #""is_retryable":1"#),
                (.status(21104, isRetryable: false, keyStyle: .dash, valueStyle: .string), #""is-retryable":"false""#),
            ]
            for (step, text) in expected {
                let answer = try await apple.ask(receipt(behaviour: [step]).base64Encoded())
                #expect(answer.body == #"{"status":21104,"environment":"Production",\#(text)}"#)
            }
        }
    }

    @Test("The simulation sends a test's verbatim JSON, HTTP status with headers, HTML or empty in_app")
    func texts() async throws {
        try await withApple { apple async throws in
            func ask(_ step: SimulatedStep) async throws -> WireClient.Outcome {
                try await apple.ask(receipt(behaviour: [step]).base64Encoded())
            }
            let verbatim = try await ask(.json("{\"x\": 1 }", httpStatus: 500))
            #expect(verbatim.body == "{\"x\": 1 }")
            #expect(verbatim.httpStatus == 500)
            let busy = try await ask(.http(503, headers: ["Retry-After": "5", "Content-Length": "9"], body: "busy"))
            guard case .response(503, let headers, "busy") = busy else {
                Issue.record("\(busy)")
                return
            }
            #expect(headers["retry-after"] == "5")
            let page = try await ask(.html)
            #expect(page.httpStatus == 200)
            #expect(page.body == "<html><body><b>Http/1.1 Service Unavailable</b></body> </html>")
            let empty = try await ask(.emptyInApp)
            #expect(empty.status == 0)
            #expect(empty.receipt["bundle_id"] as? String == "com.example.game")
            #expect(empty.inApp.isEmpty)
        }
    }

    @Test("If a test scripts a reset, a close, half a body or garbage, the simulation's client sees this fault")
    func broken() async throws {
        try await withApple { apple async throws in
            func ask(_ step: SimulatedStep) async throws -> WireClient.Outcome {
                try await apple.ask(receipt(behaviour: [step]).base64Encoded())
            }
            #expect(try await ask(.reset) == .reset)
            #expect(try await ask(.close) == .closed(bytes: 0))
            #expect(try await ask(.garbage) == .notHTTP)
            let half = try await ask(.halfBody)
            guard case .closed(let bytes) = half else {
                Issue.record("\(half)")
                return
            }
            #expect(bytes > 300)
        }
    }

    @Test("If a scripted step hangs, the simulation reads the request, and sends nothing until the client disconnects")
    func hang() async throws {
        let text = receipt(behaviour: [.hang]).base64Encoded()
        try await withApple { apple async throws in
            let client = try await WireClient.connect(port: apple.port)
            async let outcome = client.post("/production/verifyReceipt", "{\"receipt-data\":\"\(text)\"}")
            await apple.waitUntil { $0.answers["hang"] == 1 }
            #expect(apple.counters.concurrentRequests == 1)
            try await client.close()
            #expect(try await outcome == .closed(bytes: 0))
            await apple.waitUntil { $0.concurrentRequests == 0 && $0.openConnections == 0 }
        }
    }

    @Test("If a scripted step hangs after the head of the answer, the simulation's client gets no body")
    func hangAfterHeaders() async throws {
        let text = receipt(behaviour: [.hangAfterHeaders]).base64Encoded()
        try await withApple { apple async throws in
            async let outcome = apple.ask(text)
            await apple.waitUntil { $0.answers["hang_after_headers"] == 1 }
            // The outage resets every connection, which ends the client's wait.
            try await apple.setOutage(.refuse)
            let seen = try await outcome
            #expect(seen.body == nil)
        }
    }

    @Test("If the simulation sends an answer slowly in small pieces, the client gets the whole answer")
    func slowDrip() async throws {
        let text = receipt(behaviour: [.slowDrip(milliseconds: 1, chunkBytes: 100)]).base64Encoded()
        let answer = try await withApple { try await $0.ask(text) }
        #expect(answer.status == 0)
        #expect(answer.inApp.count == 1)
    }

    @Test("The simulation adds a scripted step's delay to its own latency")
    func latency() async throws {
        let text = receipt(behaviour: [.delay(milliseconds: 40, then: .genuine)]).base64Encoded()
        try await withApple(latency: .fixed(30)) { apple async throws in
            let clock = ContinuousClock()
            let start = clock.now
            #expect(try await apple.ask(text).status == 0)
            #expect(clock.now - start >= .milliseconds(70))
            apple.setLatency(.logNormal(median: 20, sigma: 0.1, cap: 25))
            let middle = clock.now
            #expect(try await apple.ask(receipt().base64Encoded()).status == 0)
            #expect(clock.now - middle >= .milliseconds(8))
        }
    }

    @Test("A simulated behaviour for a receipt or an endpoint applies until the test resets the simulation")
    func registered() async throws {
        let text = receipt().base64Encoded()
        try await withApple { apple async throws in
            apple.register(receiptData: text, behaviour: [.status(21009), .genuine])
            #expect(try await apple.ask(text).status == 21009)
            #expect(try await apple.ask(text).status == 0)
            apple.register(receiptData: "junk", behaviour: [.status(21010)])
            #expect(try await apple.ask("junk").status == 21010)
            apple.setBehaviour([.status(21003)], endpoint: .production)
            #expect(try await apple.ask(text).status == 21003)
            #expect(try await apple.ask(text, at: .sandbox).status == 21008)
            try await apple.reset()
            #expect(try await apple.ask(text).status == 0)
            #expect(try await apple.ask("junk").status == 21002)
        }
    }

    @Test("A simulated outage applies to one endpoint or to all endpoints until the test ends the outage")
    func outages() async throws {
        let text = receipt().base64Encoded()
        try await withApple { apple async throws in
            try await apple.setOutage(.http503, endpoint: .production)
            #expect(try await apple.ask(text).httpStatus == 503)
            #expect(try await apple.ask(text, at: .sandbox).status == 21008)
            try await apple.setOutage(.reset)
            #expect(try await apple.ask(text, at: .sandbox) == .reset)
            try await apple.setOutage(.html)
            #expect(try await apple.ask(text).body?.hasPrefix("<html>") == true)
            try await apple.setOutage(.refuse)
            await #expect(throws: (any Error).self) { try await apple.ask(text) }
            try await apple.setOutage(nil)
            #expect(try await apple.ask(text).status == 0)
        }
    }

    @Test("With a simulated error rate of 30 %, about 30 % of the requests fail, and the same requests in each run")
    func errorRate() async throws {
        let text = receipt().base64Encoded()
        func run() async throws -> [Int?] {
            try await withApple { apple async throws in
                apple.setErrorRate(0.3, step: .status(21009))
                let client = try await WireClient.connect(port: apple.port)
                var statuses: [Int?] = []
                for _ in 0..<200 {
                    statuses.append(
                        try await client.post("/verifyReceipt", "{\"receipt-data\":\"\(text)\"}").status)
                }
                return statuses
            }
        }
        let first = try await run()
        #expect((30...90).contains(first.count { $0 == 21009 }))
        #expect(try await run() == first)
    }
}
