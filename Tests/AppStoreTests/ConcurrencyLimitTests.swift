import AppStore
import AppStoreSimulation
import Fulfillment
import TestSupport
import Testing

@Suite("The limit on verifyReceipt requests in flight")
struct ConcurrencyLimitTests {
    @Test("With a limit of four, 120 simultaneous tries never have more than four open requests, sandbox included")
    func limit() async throws {
        try await SimulatedApple.run(maxConcurrency: 4, latency: .fixed(2)) { apple in
            await withTaskGroup(of: AppleAnswer.self) { group in
                for number in 0..<120 {
                    let environment: SimulatedEnvironment = number % 2 == 0 ? .production : .sandbox
                    group.addTask { await apple.ask(SimulatedApple.receipt("\(number)", environment: environment)) }
                }
                for await answer in group { #expect(answer.genuine != nil) }
            }
            #expect(apple.store.counters.requests == 180)
            #expect(apple.store.counters.maximumConcurrentRequests <= 4)
            #expect(apple.client.gate.inUse == 0)
        }
    }

    @Test("If a verifyReceipt try is cancelled, the client returns trouble, and gives back the permit")
    func cancelled() async throws {
        try await SimulatedApple.run { apple in
            let task = Task { await apple.ask(SimulatedApple.receipt("1", .hang)) }
            await apple.store.waitUntil { $0.concurrentRequests == 1 }
            task.cancel()
            #expect(await task.value == .trouble(of: .connection))
            #expect(apple.client.gate.inUse == 0)
            await apple.store.waitUntil { $0.openConnections == 0 }
        }
    }

    @Test("If a verifyReceipt try is cancelled while it waits for a permit, the client sends no request")
    func cancelledWaiting() async throws {
        let changes = ChangeSignal()
        let limits = AppleLimits(fixedConcurrency: 1, queued: { changes.raise() })
        // The first try must outlast the test on a slow machine too, so that the second try has to wait.
        try await SimulatedApple.run(timeoutSeconds: 600, limits: limits) { apple in
            let first = Task { await apple.ask(SimulatedApple.receipt("1", .hang)) }
            await apple.store.waitUntil { $0.concurrentRequests == 1 }
            let second = Task { await apple.ask(SimulatedApple.receipt("2")) }
            try await changes.until("the second waits") { limits.gate.waiting == 1 }
            second.cancel()
            #expect(await second.value == .trouble(of: .connection))
            first.cancel()
            _ = await first.value
            #expect(apple.store.counters.requests == 1)
        }
    }

    @Test("If the verifyReceipt client is shut down, its tries in flight end in trouble")
    func shutdown() async throws {
        try await SimulatedApple.run { apple in
            let task = Task { await apple.ask(SimulatedApple.receipt("1", .hang)) }
            await apple.store.waitUntil { $0.concurrentRequests == 1 }
            await apple.client.shutdown()
            #expect(await task.value == .trouble(of: .connection))
        }
    }
}
