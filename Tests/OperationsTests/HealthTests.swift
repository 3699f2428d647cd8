import Operations
import Synchronization
import Testing

@Suite("The worker's health probes")
struct HealthTests {
    /// A clock that only `advance` moves.
    final class ManualClock: Sendable {
        private let nanoseconds = Atomic<UInt64>(1_000_000_000_000)
        func advance(seconds: UInt64) { nanoseconds.wrappingAdd(seconds * 1_000_000_000, ordering: .relaxed) }
        var now: @Sendable () -> UInt64 { { self.nanoseconds.load(ordering: .relaxed) } }
    }

    @Test("A part that has never sent a heartbeat does not fail the liveness probe")
    func beforeFirstBeat() {
        let clock = ManualClock()
        let health = Health(now: clock.now)
        clock.advance(seconds: 10_000)
        #expect(health.livez().ok)
        #expect(health.livez().text == "ok\n")
    }

    @Test(
        "If a part's last heartbeat is older than the part's limit, the liveness probe fails until the next heartbeat",
        arguments: Health.Part.allCases)
    func heartbeat(part: Health.Part) {
        let clock = ManualClock()
        let health = Health(now: clock.now)
        let limit = UInt64(part.maximumAge.components.seconds)
        health.beat(part)
        clock.advance(seconds: limit)
        #expect(health.livez().ok)
        clock.advance(seconds: 1)
        #expect(!health.livez().ok)
        #expect(health.livez().text == "\(part.rawValue): no progress for \(limit + 1) s, limit \(limit) s\n")
        health.beat(part)
        #expect(health.livez().ok)
    }

    @Test("A retired part of the worker does not fail the liveness probe, however old its last heartbeat is")
    func retirement() {
        let clock = ManualClock()
        let health = Health(now: clock.now)
        health.beat(.consumerLoop)
        health.retire(.consumerLoop)
        clock.advance(seconds: 10_000)
        #expect(health.livez().ok)
    }

    @Test("The readiness probe lists every unmet condition, in the order of start-up")
    func readiness() {
        let health = Health()
        #expect(!health.readyz().ok)
        #expect(health.unmet.count == 3)
        health.set(.databaseReachable, unmet: nil)
        health.set(.schemaCurrent, unmet: "run receiptd migrate")
        // The worker has not asked Kafka yet, so health has no text about Kafka.
        #expect(health.unmet == ["run receiptd migrate", "the catalog has not been imported yet"])
        health.set(.schemaCurrent, unmet: nil)
        health.set(.catalogImported, unmet: nil)
        #expect(
            health.unmet == [
                "Kafka has not been reached yet", "the consumer group has not been joined yet",
                "Kafka has not described all topics yet",
            ])
        health.set(.brokerReached, unmet: nil)
        health.set(.topicsFound, unmet: nil)
        health.set(.joinedGroup, unmet: "no answer from Kafka")
        health.set(.databaseReachable, unmet: "connection refused")
        #expect(health.readyz().text == "connection refused\nno answer from Kafka\n")
        health.set(.joinedGroup, unmet: nil)
        health.set(.databaseReachable, unmet: nil)
        #expect(health.readyz().ok)
        #expect(health.readyz().text == "ready\n")
        health.set(.notStopping, unmet: "stopping")
        #expect(!health.readyz().ok)
    }

    @Test("Setting a readiness condition returns whether the condition changed, and a new reason counts as no change")
    func change() {
        let health = Health()
        #expect(!health.set(.joinedGroup, unmet: "still joining"))
        #expect(health.set(.joinedGroup, unmet: nil))
        #expect(!health.set(.joinedGroup, unmet: nil))
        #expect(health.set(.joinedGroup, unmet: "lost"))
        #expect(!health.set(.joinedGroup, unmet: "lost again"))
    }
}
