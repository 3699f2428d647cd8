import AppStoreSimulation
import Fulfillment
import NamesAndTimes
import Synchronization
import Testing

@testable import AppStore

@Suite("Outages of one of Apple's addresses")
struct AppleReachTests {
    private static let url = "https://buy.example/verifyReceipt"
    private static let time = Timestamp(milliseconds: 1_795_167_000_000)

    @Test("receiptd reports an outage of an Apple address at the second failure, then once a minute, and at its end")
    func lines() {
        var reach = AppleReach()
        func note(_ cause: String?, _ now: Double) -> AppleReach.News? {
            reach.note(Self.url, noAnswer: cause, now: now, time: Self.time)
        }
        #expect(note(nil, 0) == nil)
        #expect(note("connection refused", 100) == nil)
        #expect(reach.outages.isEmpty)
        var outage = AppleReach.Outage(url: Self.url, since: Self.time, cause: "connection refused", failures: 2)
        #expect(note("connection refused", 200) == .gone(outage))
        #expect(reach.outages == [outage])
        #expect(outage.description.hasPrefix("Apple: no answer from https://buy.example/verifyReceipt since 20"))
        #expect(outage.description.hasSuffix(": connection refused"))
        #expect(note("DNS name not found", 201) == nil)
        outage = AppleReach.Outage(url: Self.url, since: Self.time, cause: "DNS name not found", failures: 3)
        let quiet = reach.look(now: 259)
        #expect(quiet.isEmpty)
        let reminders = reach.look(now: 260) + reach.look(now: 261) + reach.look(now: 320)
        #expect(reminders == [.lasts(outage), .lasts(outage)])
        #expect(note(nil, 330) == .back(outage, afterSeconds: 230))
        #expect(note(nil, 331) == nil)
        #expect(reach.outages.isEmpty && reach.look(now: 1_000).isEmpty)
    }

    @Test("failures between Apple's answers, or within five seconds after an answer, do not count as an outage")
    func noOutage() {
        var reach = AppleReach()
        _ = reach.note(Self.url, noAnswer: nil, now: 0, time: Self.time)
        for second in 0..<1_000 {
            for cause in ["timeout", "timeout", nil] {
                let news = reach.note(Self.url, noAnswer: cause, now: Double(second), time: Self.time)
                #expect(news == nil)
            }
        }
        for tenth in 0..<49 {
            let now = 999 + Double(tenth) / 10
            let news = reach.note(Self.url, noAnswer: "timeout", now: now, time: Self.time)
            #expect(news == nil)
        }
        let news = reach.note(Self.url, noAnswer: "timeout", now: 1_004, time: Self.time)
        guard case .gone = news else {
            Issue.record("five seconds without an answer are not told")
            return
        }
    }

    /// An observer that records the client's reports about its addresses.
    private final class Causes: AppleObserver {
        private let told = Mutex<[String]>([])
        var all: [String] { told.withLock { $0 } }
        func requestEnded(endpoint: String, environment: StoreEnvironment, result: String, seconds: Double) {}
        func reached(_ url: String, noAnswer: String?) {
            told.withLock { $0.append("\(url): \(noAnswer ?? "answered")") }
        }
    }

    @Test("the verifyReceipt client reports an Apple address without its query, with the cause of the failure")
    func causes() async throws {
        let store = try await AppStoreSimulation.start()
        let causes = Causes()
        var settings = AppleSettings()
        settings.timeoutSeconds = 5
        func ask(_ url: String) async throws {
            settings.productionURL = url
            let client = try VerifyReceiptClient(settings: settings, secrets: { _ in nil }, observer: causes)
            _ = await client.verify(
                VerificationRequest(bundleID: "com.example.game", receipt: "QUJD", sharedSecretSetting: nil))
            await client.shutdown()
        }
        let base = store.productionURL
        let secure = "https" + base.dropFirst(4)
        try await ask(base + "?password=secret")
        try await ask(secure)
        try await store.setOutage(.http503)
        try await ask(base)
        try await store.setOutage(.refuse)
        try await ask(base)
        try await ask("http://no-such-host.invalid/verifyReceipt")
        try await store.shutdown()
        let told = causes.all
        #expect(told.first == base + ": answered")
        #expect(told.contains(base + ": HTTP status 503"))
        #expect(told.contains(base + ": connection refused"))
        #expect(told.contains { $0.hasPrefix(secure + ": TLS: ") }, "\(told)")
        #expect(told.contains("http://no-such-host.invalid/verifyReceipt: DNS name not found"), "\(told)")
        #expect(!told.contains { $0.contains("secret") })
    }
}
