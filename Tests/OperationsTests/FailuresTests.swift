import Logging
import Synchronization
import Testing

@testable import Operations

@Suite("Failures of the worker's parts")
struct FailuresTests {
    private static let denied = FailureDescription(
        code: "42501", codeKey: .sqlState, words: "permission denied for table grants")

    private struct Refused: DescribedError {
        var failureCode: String? { "42501" }
        var failureCodeKey: LogKey { .sqlState }
        var failureWords: String { "permission denied for table grants" }
    }

    private struct Lost: DescribedError {
        var failureWords: String { "connection refused" }
        var failedDependency: FailingPart? { .postgresql }
    }

    @Test("The worker reports a failure of a part when it begins, each minute while it lasts, and when it is over")
    func notices() {
        var states = FailureStates()
        var said: [(at: Double, FailureStates.Notice.Kind, Int)] = []
        for second in 0...200 {
            let now = Double(second)
            if second <= 150 {
                if let notice = states.failed(.decisions, Self.denied, now: now) { said.append((now, notice.kind, 1)) }
            } else {
                states.recovered(.decisions)
            }
            for notice in states.notices(now: now) { said.append((now, notice.kind, notice.count)) }
        }
        #expect(said.map(\.at) == [0, 60, 120, 160])
        #expect(said.map(\.1) == [.began, .lasts, .lasts, .over])
        #expect(said.map(\.2) == [1, 61, 121, 151])
        #expect(states.episodes.isEmpty)
    }

    @Test("Repeated failures of a part count as one failure until the part has had no failure for ten seconds")
    func flapping() {
        var states = FailureStates()
        var said: [FailureStates.Notice.Kind] = []
        for second in 0..<50 {
            if let notice = states.failed(.recall, Self.denied, now: Double(second)) { said.append(notice.kind) }
            states.recovered(.recall)
            said += states.notices(now: Double(second)).map(\.kind)
        }
        #expect(said == [.began])
        #expect(states.notices(now: 59).map(\.kind) == [.over])
        #expect(states.failed(.recall, Self.denied, now: 70)?.kind == .began)
    }

    @Test("A required part that fails for five seconds makes the process unready, and an optional part does not")
    func readiness() {
        var states = FailureStates()
        _ = states.failed(.decisions, Self.denied, now: 100)
        _ = states.failed(.holds, Self.denied, now: 100)
        #expect(states.unmet(now: 104).isEmpty)
        #expect(states.notes(now: 104).count == 2)
        #expect(
            states.unmet(now: 105) == [
                "decisions cannot be written to PostgreSQL: 42501 permission denied for table grants "
                    + "(decisions, for 5 s, once)"
            ])
        #expect(states.notes(now: 105).map { $0.hasPrefix("held transactions") } == [true])
        // One success makes the worker ready, although the failure does not count as over yet.
        states.recovered(.decisions)
        #expect(states.unmet(now: 106).isEmpty)
        _ = states.failed(.decisions, Self.denied, now: 107)
        #expect(states.unmet(now: 111).isEmpty)
        #expect(states.unmet(now: 112).count == 1)
    }

    @Test(
        "The log has a failure's part and error code, and health and metrics show the failure until the part recovers")
    func shell() {
        let log = LogRecorder()
        let metrics = ReceiptdMetrics(version: "1")
        let clock = Mutex(1000.0)
        let failures = Failures(
            metrics: metrics, logger: log.logger(.json, level: LogLevelSwitch(.info)), now: { clock.withLock { $0 } })
        let health = Health(failures: failures)
        for condition in Health.ReadinessCondition.allCases { health.set(condition, unmet: nil) }
        failures.failed(.decisions, Refused())
        failures.failed(.decisions, Refused())
        #expect(log.lines.count == 1)
        let line = log.lines.first ?? ""
        for piece in [
            #""level":"warning""#, #""part":"decisions""#, #""sql_state":"42501""#,
            #""error":"permission denied for table grants""#,
        ] { #expect(line.contains(piece), "\(piece) in \(line)") }
        #expect(metrics.failures.with("decisions").value == 2)
        #expect(metrics.failing.with("decisions").value == 1)
        #expect(health.readyz().ok && health.readyz().text.contains("42501"))
        clock.withLock { $0 += 6 }
        #expect(!health.readyz().ok)
        #expect(health.livez().ok)
        failures.recovered(.decisions)
        #expect(health.readyz().ok)
        clock.withLock { $0 += 10 }
        failures.tick()
        #expect(log.lines.count == 2)
        #expect(log.lines.last?.contains(#""count":2"#) == true)
        #expect(metrics.failing.with("decisions").value == 0)
        #expect(health.readyz().text == "ready\n")
    }

    @Test("If PostgreSQL is unreachable for three parts, the log has one line, and any part's success ends the failure")
    func dependency() {
        let log = LogRecorder()
        let metrics = ReceiptdMetrics(version: "1")
        let clock = Mutex(0.0)
        let failures = Failures(
            metrics: metrics, logger: log.logger(.json, level: LogLevelSwitch(.info)), now: { clock.withLock { $0 } })
        for part in [FailingPart.decisions, .recall, .holds] { failures.failed(part, Lost()) }
        #expect(log.lines.count == 1)
        #expect(log.lines.first?.contains(#""part":"postgresql""#) == true)
        #expect(metrics.failures.with("holds").value == 1)
        #expect(metrics.failing.with("holds").value == 0)
        clock.withLock { $0 = 20 }
        #expect(failures.unmet.count == 1)
        failures.recovered(.catalog)
        #expect(failures.unmet.isEmpty)
        failures.tick()
        #expect(log.lines.count == 2)
    }

    @Test("A cancellation counts as no failure; of an error that is no DescribedError, the log has only the type")
    func strangers() {
        struct Secretive: Error, CustomStringConvertible { let description = "password" }
        let log = LogRecorder()
        let failures = Failures(logger: log.logger(.text))
        failures.failed(.catalog, CancellationError())
        #expect(log.lines.isEmpty)
        failures.failed(.catalog, Secretive())
        #expect(log.lines.count == 1)
        #expect(log.lines.allSatisfy { $0.contains("Secretive") && !$0.contains("password") })
    }

    @Test("A revoked partition's lag is 0; a lost partition's lag stays until an assignment omits the partition")
    func partitionGauges() {
        let metrics = ReceiptdMetrics(version: "1")
        var gauges = PartitionGauges(lag: metrics.consumerLag, count: metrics.assignedPartitions)
        func lag(_ partition: Int) -> Double? {
            metrics.consumerLag.all().first { $0.labelValues == ["t", "\(partition)"] }?.child.value
        }
        gauges.assign([("t", 0), ("t", 1), ("t", 2)])
        #expect(metrics.assignedPartitions.value == 3)
        for partition in 0..<3 { gauges.set(lag: 7, end: 9, topic: "t", partition: Int32(partition), now: 0) }
        gauges.revoke(topic: "t", partition: 0, isLost: false)
        #expect(lag(0) == 0)
        gauges.revoke(topic: "t", partition: 1, isLost: true)
        gauges.revoke(topic: "t", partition: 2, isLost: true)
        #expect(metrics.assignedPartitions.value == 0)
        #expect(lag(1) == 7 && lag(2) == 7)
        gauges.assign([("t", 1)])
        #expect(lag(1) == 7)
        #expect(lag(2) == 0)
    }
}
