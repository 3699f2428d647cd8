import Fulfillment

/// Every metric of receiptd, declared in one place. The names and labels of the contract are promised to dashboards.
public struct ReceiptdMetrics: Sendable {
    public let registry: MetricsRegistry
    public let version: String

    // What is promised.
    /// `type`: an outcome event's; `reason`: its reason, empty for what has none.
    public let outcomes: CounterFamily
    public let deadLetters: CounterFamily
    /// `endpoint`, `environment`, `result`: all results but ``appleAnswered`` count as errors on the live page.
    public let appleRequests: CounterFamily
    /// Seconds.
    public let appleRequestDuration: Histogram
    public let appleConcurrencyLimit: Gauge
    /// `bundle_id`, `endpoint`: 0 or 1.
    public let appleCircuitOpen: GaugeFamily
    public let inFlight: Gauge
    public let parked: Gauge
    public let held: Gauge
    public let outboxPending: Gauge
    /// `topic`, `partition`. Told by ``PartitionGauges``.
    public let consumerLag: GaugeFamily
    /// Of the submissions topic.
    public let assignedPartitions: Gauge
    /// 0 or 1, as `/readyz` says.
    public let ready: Gauge
    /// `part`: a ``FailingPart``.
    public let failures: CounterFamily
    /// Seconds.
    public let submissionDuration: Histogram
    /// `bundle_id`: 0 or 1. Set by ``misconfiguration``.
    public let misconfigured: GaugeFamily
    public let misconfiguration: Misconfiguration

    // What helps besides.
    /// `part`: 0 or 1, a ``FailingPart`` that fails.
    public let failing: GaugeFamily
    public let httpConnectionsEvicted: Counter
    /// What records tell of this process's clock.
    public let recordClock = RecordClock()
    /// `against`; seconds that the worker's clock is ahead.
    public let clockSkew: GaugeFamily
    /// 0 or 1.
    public let appleDown: Gauge
    public let appleOutages: AppleOutages
    /// Seconds, of requests that had to wait.
    public let appleWait: Histogram
    public let offsetResets: Counter
    /// `type`: Apple's, `other` or `unreadable`; `result`.
    public let notifications: CounterFamily
    public let databaseFallbacks: Counter
    public let oldestInFlightSeconds: Gauge
    public let inFlightBytes: Gauge
    public let databaseBatchRows: Histogram
    /// Seconds.
    public let databaseCommitDuration: Histogram
    /// `stage`; seconds.
    public let stageDuration: HistogramFamily
    public let paused: Gauge
    public let rebalances: Counter
    public let retries: Counter
    public let recalled: Counter
    /// `signal`.
    /// `class`.
    public let submissions: CounterFamily
    public let riskSignals: CounterFamily
    public let replayingPlayers: Counter
    public let constantTokens: Counter
    /// `reason`.
    public let parkings: CounterFamily

    /// The values of `result` of a request that Apple answered, whatever the answer was.
    public static let appleAnswered: Set<String> = ["genuine", "refused", "blocked", "other_environment"]

    public init(registry: MetricsRegistry = MetricsRegistry(), version: String) {
        self.registry = registry
        self.version = version
        outcomes = registry.counter(
            "receiptd_outcomes_total", help: "Outcome events decided, by type and reason.", labels: ["type", "reason"])
        deadLetters = registry.counter(
            "receiptd_dead_letters_total", help: "Records sent to the dead-letter topic.", labels: ["reason"])
        appleRequests = registry.counter(
            "receiptd_apple_requests_total", help: "Requests to Apple that ended, by result.",
            labels: ["endpoint", "environment", "result"])
        appleRequestDuration = registry.histogram(
            "receiptd_apple_request_duration_seconds", help: "From a request to Apple to its answer or failure.",
            buckets: Buckets.request
        ).with()
        appleConcurrencyLimit = registry.gauge(
            "receiptd_apple_concurrency_limit", help: "Requests to Apple that may be in flight at once, as adapted."
        ).with()
        appleCircuitOpen = registry.gauge(
            "receiptd_apple_circuit_open", help: "1 while requests to this endpoint are held back after failures.",
            labels: ["bundle_id", "endpoint"])
        inFlight = registry.gauge("receiptd_in_flight", help: "Submissions in memory.").with()
        parked = registry.gauge(
            "receiptd_parked", help: "Submissions of the fleet that wait in PostgreSQL for their next try."
        ).with()
        held = registry.gauge("receiptd_held", help: "Transactions of the fleet that wait for an operator.").with()
        outboxPending = registry.gauge(
            "receiptd_outbox_pending", help: "Events of the fleet that are decided and not yet published."
        ).with()
        consumerLag = registry.gauge(
            "receiptd_consumer_lag", help: "Records in a partition behind the last one, from the next to be read.",
            labels: ["topic", "partition"])
        assignedPartitions = registry.gauge(
            "receiptd_assigned_partitions", help: "Partitions of the submissions topic that this replica reads."
        ).with()
        ready = registry.gauge("receiptd_ready", help: "1 while /readyz says ready.").with()
        failures = registry.counter(
            "receiptd_failures_total", help: "Failures of what runs by itself and tries again, by part.",
            labels: ["part"])
        failing = registry.gauge(
            "receiptd_failing", help: "1 while a part fails, and until it has worked for a while.", labels: ["part"])
        clockSkew = registry.gauge(
            "receiptd_clock_skew_seconds", help: "Seconds that this process's clock is ahead of another.",
            labels: ["against"])
        httpConnectionsEvicted = registry.counter(
            "receiptd_http_connections_evicted_total",
            help: "Connections to the operators' HTTP server that had to go, for there were too many."
        ).with()
        submissionDuration = registry.histogram(
            "receiptd_submission_duration_seconds", help: "From a record's timestamp to its published outcome.",
            buckets: Buckets.submission
        ).with()
        misconfigured = registry.gauge(
            "receiptd_misconfigured", help: "1 while an app's submissions wait for an operator to mend its settings.",
            labels: ["bundle_id"])
        misconfiguration = Misconfiguration(gauge: misconfigured)

        appleDown = registry.gauge(
            "receiptd_apple_down", help: "1 while Apple is held back for every app and endpoint in use."
        ).with()
        appleOutages = AppleOutages(
            gauge: registry.gauge(
                "receiptd_apple_no_answer", help: "Of Apple's addresses, how many give no answer now."
            ).with())
        appleWait = registry.histogram(
            "receiptd_apple_wait_seconds",
            help: "What requests waited for a circuit, a Retry-After or the budget, of those that had to.",
            buckets: Buckets.request
        ).with()
        databaseFallbacks = registry.counter(
            "receiptd_database_fallbacks_total",
            help: "Assignments that started below Kafka's offset, for the database lacked what had been committed."
        ).with()
        offsetResets = registry.counter(
            "receiptd_offset_resets_total", help: "Times that a partition's committed offset no longer existed."
        ).with()
        notifications = registry.counter(
            "receiptd_notifications_total",
            help: "App Store Server Notifications taken, by type and what came of them.",
            labels: ["type", "result"])
        oldestInFlightSeconds = registry.gauge(
            "receiptd_oldest_in_flight_seconds", help: "For how long the oldest submission in memory has been there."
        ).with()
        inFlightBytes = registry.gauge("receiptd_in_flight_bytes", help: "Bytes of the submissions in memory.").with()
        databaseBatchRows = registry.histogram(
            "receiptd_database_batch_rows", help: "Submissions decided in one database transaction.",
            buckets: Buckets.rows
        ).with()
        databaseCommitDuration = registry.histogram(
            "receiptd_database_commit_duration_seconds", help: "One database transaction, from BEGIN to COMMIT.",
            buckets: Buckets.stage
        ).with()
        stageDuration = registry.histogram(
            "receiptd_stage_duration_seconds", help: "What a submission spends in one stage.", labels: ["stage"],
            buckets: Buckets.stage)
        paused = registry.gauge("receiptd_paused", help: "1 while no records are fetched.").with()
        rebalances = registry.counter("receiptd_rebalances_total", help: "Changes of the partitions assigned.").with()
        retries = registry.counter("receiptd_retries_total", help: "Tries of submissions after their first.").with()
        recalled = registry.counter(
            "receiptd_recalled_total", help: "Submissions answered from an earlier outcome, without Apple."
        ).with()
        submissions = registry.counter(
            "receiptd_submissions_total", help: "Submissions answered, by what they turned out to be.",
            labels: ["class"])
        replayingPlayers = registry.counter(
            "receiptd_replaying_players_total",
            help: "Players whose submissions of purchases that others own came to ten within 30 days."
        ).with()
        constantTokens = registry.counter(
            "receiptd_constant_account_tokens_total",
            help: "Account tokens that more than five players sent, and that name nobody any more."
        ).with()
        riskSignals = registry.counter(
            "receiptd_risk_signals_total", help: "Granted and held events that carry a risk signal, by signal.",
            labels: ["signal"])

        parkings = registry.counter(
            "receiptd_parkings_total", help: "Submissions that left memory to wait in PostgreSQL, by reason.",
            labels: ["reason"])

        registry.gauge("receiptd_build_info", help: "1, labelled with the version.", labels: ["version"])
            .with(version).set(1)
        ProcessMetrics.declare(in: registry)
        declareKnownSeries()
    }

    /// Series that alerts watch start at 0: the first of a kind is else no increase, for there is nothing before it.
    private func declareKnownSeries() {
        _ = outcomes.with(OutcomeEvent.Kind.granted.rawValue, "")
        // An alert fires at the first: it must be seen to rise from none.
        _ = outcomes.with(OutcomeEvent.Kind.held.rawValue, Reason.kindMismatch.rawValue)
        for signal in RiskSignal.allCases { _ = riskSignals.with(signal.rawValue) }
        for reason in DeadLetter.Reason.allCases { _ = deadLetters.with(reason.rawValue) }
        _ = parkings.with(ParkingReason.crashed.rawValue)
        for part in FailingPart.allCases {
            _ = failures.with(part.rawValue)
            _ = failing.with(part.rawValue)
        }
        for clock in ["postgresql", "record"] { _ = clockSkew.with(clock) }
    }
}

/// Upper bounds of histogram buckets.
private enum Buckets {
    /// Seconds: 5 ms to 30 s; the default timeout is 10 s.
    static let request = [0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1, 1.5, 2.5, 5, 10, 30]
    /// Seconds: 5 ms to 300 s, the longest delay between two tries.
    static let submission = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300]
    /// Seconds: 0.5 ms to 10 s.
    static let stage = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]
    static let rows: [Double] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000]
}
