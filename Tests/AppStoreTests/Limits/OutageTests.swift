import AppStore
import AppStoreSimulation
import Fulfillment
import NamesAndTimes
import Testing

@Suite("Outages of Apple as a whole")
struct OutageTests {
    @Test(
        "while Apple is down, the client sends at most 64 requests; then each receipt gets an answer within six tries",
        arguments: [SimulatedOutage.http503, .html, .reset, .refuse])
    func outage(kind: SimulatedOutage) async throws {
        let observer = RecordingLimits()
        let limits = AppleLimits(maxConcurrency: 64, observer: observer)
        try await SimulatedApple.run(latency: .fixed(2), limits: limits) { apple in
            try await apple.store.setOutage(kind)
            await withTaskGroup(of: Int.self) { group in
                for number in 0..<400 {
                    group.addTask {
                        var tries = 0
                        while true {
                            tries += 1
                            let answer = await apple.ask(
                                SimulatedApple.receipt("\(number)"), player: Identifier("\(number)"), isRetry: tries > 1
                            )
                            if answer.genuine != nil { return tries }
                        }
                    }
                }
                await observer.waitUntil { $0.isDown && $0.openCircuits == ["com.example.game"] }
                #expect(limits.isDown)
                // A probe fails and the circuit stays open. The client sends no other request.
                let before = apple.observer.requests.count
                if kind != .refuse { await apple.store.waitUntil { $0.requests > before } }
                #expect(apple.observer.requests.count <= 64)
                try? await apple.store.setOutage(nil)
                for await tries in group { #expect(tries <= 6) }
            }
            #expect(!limits.isDown)
            #expect(limits.downSeconds > 0)
            #expect(observer.heard.openCircuits.isEmpty)
            #expect(observer.heard.timesDown == 1)
            #expect(apple.store.counters.maximumConcurrentRequests <= 64)
            #expect(limits.gate.inUse == 0)
        }
    }

    /// The time limit ends a failing test, which would otherwise run for minutes.
    @Test(
        "if thirty receipts always fail, Apple counts as down, and other players' receipts still get answers",
        .timeLimit(.minutes(1)))
    func stuckReceipts() async throws {
        let observer = RecordingLimits()
        let limits = AppleLimits(maxConcurrency: 16, observer: observer)
        try await SimulatedApple.run(latency: .fixed(2), limits: limits) { apple in
            await withTaskGroup(of: Void.self) { stuck in
                for number in 0..<30 {
                    let receipt = SimulatedApple.receipt("9\(number)", .status(21005))
                    stuck.addTask {
                        var isRetry = false
                        while !Task.isCancelled {
                            _ = await apple.ask(receipt, player: Identifier("stuck-\(number)"), isRetry: isRetry)
                            isRetry = true
                            // The wait simulates the receipts' retry delays.
                            try? await Task.sleep(for: .milliseconds(50))
                        }
                    }
                }
                await observer.waitUntil { $0.isDown }
                await withTaskGroup(of: Void.self) { others in
                    for number in 0..<100 {
                        others.addTask {
                            let receipt = SimulatedApple.receipt("\(number)")
                            #expect(await apple.ask(receipt, player: Identifier("\(number)")).genuine != nil)
                        }
                    }
                }
                stuck.cancelAll()
            }
        }
    }

    /// A partition's next owner makes a first try of a submission whose proof failed before. The time limit ends a
    /// failing test.
    @Test(
        "while Apple is down, the client sends few requests for proofs that failed before, even as first tries",
        .timeLimit(.minutes(1)))
    func knownToFail() async throws {
        let limits = AppleLimits(maxConcurrency: 16, observer: RecordingLimits())
        try await SimulatedApple.run(latency: .fixed(0), limits: limits) { apple in
            for number in 0..<20 where !limits.isDown {
                _ = await apple.ask(
                    SimulatedApple.receipt("9\(number)", .status(21005)), player: Identifier("stuck-\(number)"))
            }
            #expect(limits.isDown)
            await withTaskGroup(of: AppleAnswer.self) { group in
                for number in 0..<8 {
                    group.addTask {
                        await apple.ask(
                            SimulatedApple.receipt("9\(number)", .status(21005)),
                            player: Identifier("stuck-\(number)"))
                    }
                }
                var notAsked = 0
                for await answer in group where answer == .trouble(.init(.connection, wasAsked: false)) {
                    notAsked += 1
                }
                // Some of the eight requests may be probes.
                #expect(notAsked >= 4)
            }
            #expect(limits.isDown)
        }
    }

    /// The test sends one request after the other, so that neither time nor chance decides.
    @Test("if only four receipts always fail, Apple does not count as down, and the concurrency limit does not fall")
    func stuckPlayer() async throws {
        let observer = RecordingLimits()
        let limits = AppleLimits(maxConcurrency: 64, observer: observer)
        try await SimulatedApple.run(latency: .fixed(0), limits: limits) { apple in
            for number in 0..<100 {
                let stuck = SimulatedApple.receipt("9\(number % 4)", .http(503))
                for isRetry in [false, true] {
                    let answer = await apple.ask(stuck, player: Identifier("stuck-\(number % 4)"), isRetry: isRetry)
                    #expect(answer == .trouble(of: .serverError))
                }
                let answer = await apple.ask(SimulatedApple.receipt("\(number)"), player: Identifier("\(number)"))
                #expect(answer.genuine != nil)
            }
        }
        #expect(!limits.isDown)
        #expect(observer.heard.timesDown == 0)
        #expect(limits.gate.limit == AdaptiveConcurrency.start)
    }

    @Test("a request to Apple that waits at an open circuit reports the wait, and ends if its task is cancelled")
    func cancelled() async throws {
        let observer = RecordingLimits()
        let limits = AppleLimits(maxConcurrency: 4, observer: observer)
        try await SimulatedApple.run(limits: limits) { apple in
            try await apple.store.setOutage(.http503)
            // Ten failed players are not enough: all of them may have sent receipts that Apple never answers.
            for number in 0..<10 { _ = await apple.ask(SimulatedApple.receipt("1\(number)")) }
            #expect(!limits.isDown)
            for number in 10..<20 where !limits.isDown { _ = await apple.ask(SimulatedApple.receipt("1\(number)")) }
            #expect(limits.isDown)
            for number in 0..<10 {
                let (waits, continuation) = AsyncStream<Bool>.makeStream()
                let task = Task {
                    defer { continuation.finish() }
                    return await apple.ask(SimulatedApple.receipt("2\(number)"), waiting: { continuation.yield($0) })
                }
                var iterator = waits.makeAsyncIterator()
                // A circuit that has been open for half a second may be due for a probe, which does not wait.
                guard await iterator.next() == true else { continue }
                task.cancel()
                #expect(await task.value == .trouble(of: .connection))
                #expect(await iterator.next() == false)
                return
            }
            Issue.record("none of ten waited")
        }
    }
}

@Suite("The adaptive limit on simultaneous requests to Apple")
struct AdaptedConcurrencyTests {
    @Test("under load the concurrency limit grows to its maximum and not further; answers with 503 lower the limit")
    func growsAndBacksOff() async throws {
        let observer = RecordingLimits()
        let limits = AppleLimits(maxConcurrency: 64, observer: observer)
        try await SimulatedApple.run(maxConcurrency: 64, latency: .fixed(10), limits: limits) { apple in
            func load(_ count: Int) async {
                await withTaskGroup(of: Void.self) { group in
                    for number in 0..<count {
                        group.addTask { _ = await apple.ask(SimulatedApple.receipt("\(number)")) }
                    }
                }
            }
            await load(600)
            #expect(observer.heard.limit == 64)
            #expect(apple.store.counters.maximumConcurrentRequests <= 64)
            apple.store.setErrorRate(0.3, step: .http(503))
            await load(600)
            #expect(observer.heard.limit < 64)
            #expect(observer.heard.highestLimit == 64)
        }
    }
}
