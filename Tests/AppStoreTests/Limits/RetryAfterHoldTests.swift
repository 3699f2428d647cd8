import AppStore
import AppStoreSimulation
import Foundation
import Fulfillment
import NamesAndTimes
import TestSupport
import Testing

@Suite("Apple's Retry-After in the fleet")
struct RetryAfterHoldTests {
    enum Form: CaseIterable, Sendable {
        case seconds, date, milliseconds

        /// The seconds of the hold. A loaded machine needs some of them until both replicas know the hold, and the
        /// sanitizer makes everything ten times as slow.
        static let ahead = Int(ProcessInfo.processInfo.environment["TEST_HOLD_SECONDS"] ?? "") ?? 8

        /// Returns a header's value for a time `ahead` seconds from now. A date has no milliseconds, so its time is a
        /// second later.
        func text(_ now: Date) -> String {
            switch self {
            case .seconds: return String(Self.ahead)
            case .milliseconds: return String(Int64(now.timeIntervalSince1970 * 1000) + Int64(Self.ahead) * 1000)
            case .date:
                let formatter = DateFormatter()
                formatter.locale = Locale(identifier: "en_US_POSIX")
                formatter.timeZone = TimeZone(secondsFromGMT: 0)
                formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
                return formatter.string(from: now.addingTimeInterval(Double(Self.ahead) + 1))
            }
        }
    }

    private static let now: @Sendable () -> Timestamp = {
        Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1000))
    }

    @Test("a new replica's request waits until the end of the app's Retry-After, which the fleet shares")
    func freshReplica() async throws {
        let budget = InMemoryBudget()
        let scope = AppleScope(
            bundleID: "com.example.game", endpoint: VerifyReceiptClient.endpoint, environment: .production)
        let seconds = 4.0
        let began = ContinuousClock.now
        try await budget.hold(scope, seconds: seconds)
        let limits = AppleLimits(maxConcurrency: 8, budget: budget)
        let follower = Task { await limits.follow() }
        defer { follower.cancel() }
        // The second read of the holds begins after the first read took effect.
        for await _ in budget.looks.stream.prefix(2) {}
        try await SimulatedApple.run(limits: limits, now: Self.now) { apple in
            #expect(await apple.ask(SimulatedApple.receipt("1")).genuine != nil)
            #expect(ContinuousClock.now - began >= .seconds(seconds - 0.01))
        }
    }

    @Test(
        "a Retry-After in any form holds back the app's requests on both replicas, and no other app's requests",
        arguments: Form.allCases)
    func forms(form: Form) async throws {
        let budget = InMemoryBudget()
        let observer = RecordingLimits()
        let limits = AppleLimits(maxConcurrency: 8, budget: budget, observer: observer)
        let otherObserver = RecordingLimits()
        let otherLimits = AppleLimits(maxConcurrency: 8, budget: budget, observer: otherObserver)
        let follower = Task { await otherLimits.follow() }
        defer { follower.cancel() }
        try await SimulatedApple.run(limits: limits, now: Self.now, logCapacity: 100) { apple in
            let other = try VerifyReceiptClient(
                settings: AppleSettings(productionURL: apple.store.productionURL, sandboxURL: apple.store.sandboxURL),
                secrets: { _ in nil }, limits: otherLimits, now: Self.now)
            // The other replica must have used the scope, so that it has a scope to hold back.
            _ = await other.verify(
                VerificationRequest(
                    bundleID: "com.example.game", receipt: SimulatedApple.receipt("0"), sharedSecretSetting: nil))
            let header = form.text(Date())
            let limited = await apple.ask(SimulatedApple.receipt("1", .http(429, headers: ["Retry-After": header])))
            guard case .trouble(let trouble) = limited else {
                Issue.record("not limited")
                return
            }
            #expect(trouble.kind == .rateLimited)
            await observer.waitUntil { !$0.holds.isEmpty }
            await otherObserver.waitUntil { $0.timesDown == 1 }
            // The test waits for the count of outages, because on a slow machine the hold itself may be over by now.
            await observer.waitUntil { $0.timesDown == 1 }
            let before = apple.store.counters.requests
            #expect(await apple.ask(SimulatedApple.receipt("9"), bundleID: "com.example.other").genuine != nil)
            #expect(apple.store.counters.requests == before + 1)
            // Both requests wait until the end of the hold, and then pass.
            async let here = apple.ask(SimulatedApple.receipt("2"))
            async let there = other.verify(
                VerificationRequest(
                    bundleID: "com.example.game", receipt: SimulatedApple.receipt("3"), sharedSecretSetting: nil))
            #expect(await here.genuine != nil)
            #expect(await there.genuine != nil)
            let until = try #require(trouble.retryNotBefore).milliseconds
            for request in apple.store.requestLog where ["2", "3"].contains(request.transactionIDs.first) {
                // The times are rounded on both sides, so a request may seem to be up to 20 ms early.
                #expect(request.timestampMilliseconds >= until - 20)
            }
            #expect(observer.heard.openCircuits.isEmpty)
            await other.shutdown()
        }
    }
}
