import Fulfillment
import Kafka
import Logging
import NamesAndTimes
import Operations
import Synchronization
import TestSupport
import Testing

@testable import Pipeline

@Suite("Intake of notifications that Apple posts")
struct NotificationIntakeTests {
    private static let topic = "apple-posts"

    /// A parser that reads each body as the notification that the body names.
    private static let parser: ScriptedNotifications = {
        let parser = ScriptedNotifications()
        func read(_ text: String, as reading: NotificationReading) { parser.read(Array(text.utf8), as: reading) }
        func notification(
            _ transaction: StoreNotification.Transaction, id: Identifier = "n-1", bundle: BundleID = Sample.bundle
        ) -> NotificationReading {
            .read(
                StoreNotification(
                    id: id, type: "TEST", signedAt: Timestamp(milliseconds: 1), bundleID: bundle,
                    environment: .production, transaction: transaction))
        }
        read("forged", as: .unusable("forged"))
        read("doubtful", as: .notProvable("doubtful"))
        read("forged transaction", as: notification(.unusable("forged")))
        read("doubtful transaction", as: notification(.notProvable("doubtful")))
        read("test", as: notification(.none))
        read("test once more", as: notification(.none))
        for number in 1...100 { read("test \(number)", as: notification(.none, id: Identifier("t-\(number)"))) }
        read("another app", as: notification(.none, bundle: "com.example.other"))
        let purchase = StorePurchase(
            transactionID: "2000", originalTransactionID: "1000", productID: "gold",
            purchasedAt: Timestamp(milliseconds: 1))
        read(
            "purchase",
            as: notification(
                .told(
                    NotifiedTransaction(
                        purchase: purchase, kind: .consumable, bundleID: Sample.bundle, environment: .production)),
                id: "n-2"))
        return parser
    }()

    private func intake(
        _ cluster: MockCluster, _ metrics: ReceiptdMetrics = ReceiptdMetrics(version: "test"),
        bundles: Set<BundleID>? = [Sample.bundle], health: Health = Health(),
        properties more: KeyValuePairs<String, String> = [:], acknowledgementSeconds: Double = 8
    ) throws -> NotificationIntake {
        var properties = PipelineBench.properties(cluster)
        properties["message.timeout.ms"] = "1000"
        for (name, value) in more { properties[name] = value }
        return try NotificationIntake(
            topic: Self.topic, producerProperties: properties, parser: Self.parser, bundleIDs: bundles,
            acknowledgementSeconds: acknowledgementSeconds, metrics: metrics, health: health,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    private static let notStored = IntakeAnswer.unavailable("Kafka did not acknowledge the notification")

    /// A clock whose time passes only when a test advances the clock.
    private final class ManualClock: Sendable {
        let seconds = Mutex(0.0)

        func health() -> Health {
            Health(failures: Failures(now: { self.seconds.withLock { $0 } }), needing: [])
        }
    }

    private func take(_ body: String, _ intake: NotificationIntake) async -> IntakeAnswer {
        await intake.take(Array(body.utf8))
    }

    @Test(
        "a notification's Kafka key is the original transaction id; without a transaction, it is the notification's id")
    func taken() async throws {
        let cluster = try MockCluster(topics: [Self.topic: 1])
        let changes = ChangeSignal()
        let collector = Collector(cluster, topics: [Self.topic: 1], changes: changes)
        let intake = try intake(cluster)
        #expect(await take("purchase", intake) == .taken)
        #expect(await take("test", intake) == .taken)
        try await changes.until("both are in the topic") { collector.all(Self.topic).count == 2 }
        #expect(collector.all(Self.topic).map { String(decoding: $0.key ?? [], as: UTF8.self) } == ["1000", "n-1"])
        #expect(
            collector.all(Self.topic).map { String(decoding: $0.value ?? [], as: UTF8.self) } == ["purchase", "test"])
        await intake.close()
    }

    @Test(
        "the intake refuses forged and foreign notifications; if it cannot check a signature, it has Apple post again")
    func refused() async throws {
        let cluster = try MockCluster(topics: [Self.topic: 1])
        let metrics = ReceiptdMetrics(version: "test")
        let intake = try intake(cluster, metrics)
        #expect(await take("forged", intake) == .refused("forged"))
        #expect(await take("forged transaction", intake) == .refused("forged"))
        #expect(await take("another app", intake) == .refused("the intake does not take notifications of this app"))
        #expect(await take("doubtful", intake) == .unavailable("doubtful"))
        #expect(await take("doubtful transaction", intake) == .unavailable("doubtful"))
        #expect(metrics.notifications.with("TEST", "refused").value == 2)
        await intake.close()
        let all = try self.intake(cluster, bundles: nil)
        #expect(await take("another app", all) == .taken)
        await all.close()
    }

    @Test("while Kafka is down, the intake has Apple resend notifications; once Kafka is back, the intake accepts them")
    func brokerAway() async throws {
        let cluster = try MockCluster(topics: [Self.topic: 1])
        let intake = try intake(cluster)
        #expect(await take("test", intake) == .taken)
        cluster.setBrokerDown(1)
        guard case .unavailable = await take("test 1", intake) else { return #expect(Bool(false)) }
        cluster.setBrokerUp(1)
        // The Kafka client itself notices that the broker is back.
        try await eventually("the broker is reached again") { await take("test 1", intake) == .taken }
        await intake.close()
    }

    @Test("the intake is unready while Kafka is down, and ready once Kafka is back, even without a new notification")
    func readyAgain() async throws {
        let cluster = try MockCluster(topics: [Self.topic: 1])
        let clock = ManualClock()
        let health = clock.health()
        let intake = try intake(cluster, health: health)
        #expect(await take("test", intake) == .taken)
        cluster.setBrokerDown(1)
        #expect(await take("test 1", intake) == Self.notStored)
        let watch = Task { await intake.watch() }
        try await eventually("it is told that Kafka is away") {
            health.notes.contains { $0.contains("Kafka is out of reach") }
        }
        try await eventually("both are told") {
            // An answer that was under way when the broker went down may count as a success, after which the failure
            // begins anew. So each check advances the clock again.
            clock.seconds.withLock { $0 += 6 }
            let unmet = health.unmet
            return unmet.contains { $0.contains("events cannot be published") }
                && unmet.contains { $0.contains("Kafka is out of reach") }
        }
        cluster.setBrokerUp(1)
        try await eventually("it is ready again") { health.unmet.isEmpty }
        watch.cancel()
        await watch.value
        await intake.close()
    }

    @Test("if Kafka acknowledges a notification after the intake's 503 to Apple, the intake is ready again")
    func acknowledgedLate() async throws {
        let cluster = try MockCluster(topics: [Self.topic: 1])
        let clock = ManualClock()
        let health = clock.health()
        let intake = try intake(
            cluster, health: health, properties: ["message.timeout.ms": "60000"], acknowledgementSeconds: 0.2)
        cluster.setBrokerDown(1)
        #expect(await take("test", intake) == Self.notStored)
        clock.seconds.withLock { $0 += 6 }
        #expect(health.unmet.contains { $0.contains("the broker does not acknowledge in time") })
        cluster.setBrokerUp(1)
        try await eventually("the record is acknowledged") { health.unmet.isEmpty }
        await intake.close()
    }

    @Test(
        "after a fatal Kafka error the notification intake replaces its producer, and accepts the repeated notification"
    )
    func replaced() async throws {
        let cluster = try MockCluster(topics: [Self.topic: 1])
        let intake = try intake(cluster, properties: ["enable.idempotence": "true"])
        #expect(await take("test", intake) == .taken)
        // Error 45, OUT_OF_ORDER_SEQUENCE_NUMBER, is fatal to the producer if it concerns the oldest unacknowledged
        // batch.
        cluster.pushRequestErrors(apiKey: 0, [45])
        #expect(await take("test 1", intake) == Self.notStored)
        try await eventually("a new producer takes its place") { await take("test 1", intake) == .taken }
        await intake.close()
    }

    @Test("if Apple posts one notification a thousand times, sometimes signed anew, the intake writes one Kafka record")
    func repeated() async throws {
        let cluster = try MockCluster(topics: [Self.topic: 1])
        let changes = ChangeSignal()
        let collector = Collector(cluster, topics: [Self.topic: 1], changes: changes)
        let metrics = ReceiptdMetrics(version: "test")
        let intake = try intake(cluster, metrics)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for number in 0..<125 {
                        #expect(await take(number.isMultiple(of: 2) ? "test" : "test once more", intake) == .taken)
                    }
                }
            }
        }
        // The topic has one partition. Once this later record is there, every earlier record is there too.
        #expect(await take("purchase", intake) == .taken)
        try await changes.until("the last is in the topic") {
            collector.all(Self.topic).contains { $0.value == Array("purchase".utf8) }
        }
        #expect(collector.all(Self.topic).count == 2)
        #expect(metrics.notifications.with("TEST", "repeated").value == 999)
        await intake.close()
    }
}

@Suite("The intake's memory of the notifications that Apple posted")
struct OncePostedTests {
    private struct Failure {}

    @Test("if a notification is not stored, the intake stores its next post; the full memory forgets the oldest id")
    func memory() async {
        let posts = OncePosted<Failure>(maximum: 2)
        let stored = Mutex<[String]>([])
        func post(_ id: String, fails: Bool = false) async -> String {
            switch await posts.once(
                id,
                {
                    stored.withLock { $0.append(id) }
                    return fails ? Failure() : nil
                })
            {
            case .stored: "stored"
            case .storedBefore: "before"
            case .failed: "failed"
            }
        }
        #expect(await post("a", fails: true) == "failed")
        #expect(await post("a") == "stored")
        #expect(await post("a") == "before")
        #expect(await post("b") == "stored")
        #expect(await post("c") == "stored")
        #expect(await post("c") == "before")
        #expect(await post("b") == "before")
        #expect(await post("a") == "stored", "two are remembered")
        #expect(stored.withLock { $0 } == ["a", "a", "b", "c", "a"])
    }
}
