import Fulfillment

/// Every metric of receiptd. `MetricDeclaration` has the metric's name, help text and labels. A comment here names the
/// labels and the unit.
public struct ReceiptdMetrics: Sendable {
    public let registry: MetricsRegistry
    public let version: String

    // The contract promises these metrics.
    /// Labels: `type` and `reason` of an outcome event; `reason` is empty for an event without a reason.
    public let outcomes: CounterFamily
    /// Labels: `bundle_id`, `type`.
    public let appOutcomes: CounterFamily
    public let deadLetters: CounterFamily
    /// Labels: `endpoint`, `environment`, `result`. The worker's page counts every result outside ``appleAnswered`` as
    /// an error.
    public let appleRequests: CounterFamily
    /// In seconds.
    public let appleRequestDuration: Histogram
    public let appleConcurrencyLimit: Gauge
    /// Labels: `bundle_id`, `endpoint`. 0 or 1.
    public let appleCircuitOpen: GaugeFamily
    public let inFlight: Gauge
    public let parked: Gauge
    public let held: Gauge
    public let outboxPending: Gauge
    /// Labels: `topic`, `partition`. ``PartitionGauges`` sets it.
    public let consumerLag: GaugeFamily
    /// The number of assigned partitions of the submissions topic.
    public let assignedPartitions: Gauge
    /// 0 or 1, as `/readyz` answers.
    public let ready: Gauge
    /// Label: `part`, a ``FailingPart``.
    public let failures: CounterFamily
    /// In seconds.
    public let submissionDuration: Histogram
    /// 1 while Apple refuses the app's secret or key, otherwise 0. Label: `bundle_id`. ``misconfiguration`` sets it.
    public let misconfigured: GaugeFamily
    public let credentialsDoubted: GaugeFamily
    public let misconfiguration: Misconfiguration

    // The contract promises only some of the following metrics.
    public let foreignRoots: Gauge
    /// Label: `part`, a ``FailingPart``. 1 while the part fails, and until it has had no failure for ten seconds.
    public let failing: GaugeFamily
    public let httpConnectionsEvicted: Counter
    /// Label: `result`: right, wrong or refused.
    public let consoleSignIns: CounterFamily
    /// Label: `change`.
    public let consoleChanges: CounterFamily
    /// The difference between this process's clock and the records' timestamps.
    public let recordClock = RecordClock()
    /// The difference between this process's clock and the times of Apple's signatures.
    public let signedClock = SignedClock()
    /// Label: `against`. The seconds by which the worker's clock is ahead.
    public let clockSkew: GaugeFamily
    /// 0 or 1.
    public let appleDown: Gauge
    public let appleOutages: AppleOutages
    /// In seconds, only for requests that had to wait.
    public let appleWait: Histogram
    public let offsetResets: Counter
    /// The incidents that operators must see.
    public let incidents: Incidents
    public let localRefusals = LocalRefusals()
    /// Labels: `type` (Apple's type, `other` or `unreadable`), `result`.
    public let notifications: CounterFamily
    /// Labels: `source`, `outcome`, `reason`.
    public let announced: CounterFamily
    /// Label: `kind`: `held` or `announced`.
    public let crashedPurchases: CounterFamily
    public let unclaimed: Gauge
    public let unknownAppsDropped: Counter
    /// 0 or 1.
    public let isolating: Gauge
    /// Label: `state`.
    public let subscriptions: GaugeFamily
    public let subscriptionChecksOverdue: Gauge
    /// Label: `result`.
    public let finishes: CounterFamily
    /// Label: `result`.
    public let consumptionAnswers: CounterFamily
    /// Label: `reason`.
    public let localRefusalsDisputed: CounterFamily
    /// Label: `repair`.
    public let proofsRepaired: CounterFamily
    public let recordsWithOtherKey: Counter
    public let databaseFallbacks: Counter
    public let oldestInFlightSeconds: Gauge
    public let inFlightBytes: Gauge
    public let databaseBatchRows: Histogram
    /// In seconds.
    public let databaseCommitDuration: Histogram
    /// Label: `stage`. In seconds.
    public let stageDuration: HistogramFamily
    public let paused: Gauge
    public let rebalances: Counter
    public let retries: Counter
    public let recalled: Counter
    /// Label: `class`.
    public let submissions: CounterFamily
    /// Label: `signal`.
    public let riskSignals: CounterFamily
    public let replayingPlayers: Counter
    public let constantTokens: Counter
    public let disputedTokens: Counter
    /// Label: `reason`.
    public let parkings: CounterFamily

    /// The values of `result` for requests that Apple answered. All others count as errors.
    public static let appleAnswered: Set<String> = [
        "genuine", "answered", "not_found", "refused", "blocked", "other_environment",
    ]

    public init(registry: MetricsRegistry = MetricsRegistry(), version: String) {
        self.registry = registry
        self.version = version
        outcomes = registry.counter(.outcomes)
        appOutcomes = registry.counter(.appOutcomes)
        deadLetters = registry.counter(.deadLetters)
        appleRequests = registry.counter(.appleRequests)
        appleRequestDuration = registry.histogram(.appleRequestDuration).with()
        appleConcurrencyLimit = registry.gauge(.appleConcurrencyLimit).with()
        appleCircuitOpen = registry.gauge(.appleCircuitOpen)
        inFlight = registry.gauge(.inFlight).with()
        parked = registry.gauge(.parked).with()
        held = registry.gauge(.held).with()
        outboxPending = registry.gauge(.outboxPending).with()
        consumerLag = registry.gauge(.consumerLag)
        assignedPartitions = registry.gauge(.assignedPartitions).with()
        ready = registry.gauge(.ready).with()
        failures = registry.counter(.failures)
        failing = registry.gauge(.failing)
        foreignRoots = registry.gauge(.foreignRoots).with()
        clockSkew = registry.gauge(.clockSkew)
        consoleSignIns = registry.counter(.consoleSignIns)
        consoleChanges = registry.counter(.consoleChanges)
        httpConnectionsEvicted = registry.counter(.httpConnectionsEvicted).with()
        submissionDuration = registry.histogram(.submissionDuration).with()
        misconfigured = registry.gauge(.misconfigured)
        credentialsDoubted = registry.gauge(.credentialsDoubted)
        misconfiguration = Misconfiguration(gauge: misconfigured)
        appleDown = registry.gauge(.appleDown).with()
        appleOutages = AppleOutages(gauge: registry.gauge(.appleNoAnswer).with())
        appleWait = registry.histogram(.appleWait).with()
        databaseFallbacks = registry.counter(.databaseFallbacks).with()
        offsetResets = registry.counter(.offsetResets).with()
        incidents = Incidents(
            timestamps: registry.gauge(.incidentTimestamp), counts: registry.gauge(.incidents))
        notifications = registry.counter(.notifications)
        announced = registry.counter(.announced)
        crashedPurchases = registry.counter(.crashedPurchases)
        unclaimed = registry.gauge(.unclaimed).with()
        unknownAppsDropped = registry.counter(.unknownAppsDropped).with()
        isolating = registry.gauge(.isolating).with()
        subscriptions = registry.gauge(.subscriptions)
        subscriptionChecksOverdue = registry.gauge(.subscriptionChecksOverdue).with()
        finishes = registry.counter(.finishes)
        consumptionAnswers = registry.counter(.consumptionAnswers)
        localRefusalsDisputed = registry.counter(.localRefusalsDisputed)
        proofsRepaired = registry.counter(.proofsRepaired)
        recordsWithOtherKey = registry.counter(.recordsWithOtherKey).with()
        oldestInFlightSeconds = registry.gauge(.oldestInFlightSeconds).with()
        inFlightBytes = registry.gauge(.inFlightBytes).with()
        databaseBatchRows = registry.histogram(.databaseBatchRows).with()
        databaseCommitDuration = registry.histogram(.databaseCommitDuration).with()
        stageDuration = registry.histogram(.stageDuration)
        paused = registry.gauge(.paused).with()
        rebalances = registry.counter(.rebalances).with()
        retries = registry.counter(.retries).with()
        recalled = registry.counter(.recalled).with()
        submissions = registry.counter(.submissions)
        replayingPlayers = registry.counter(.replayingPlayers).with()
        constantTokens = registry.counter(.constantTokens).with()
        disputedTokens = registry.counter(.disputedTokens).with()
        riskSignals = registry.counter(.riskSignals)
        parkings = registry.counter(.parkings)

        registry.gauge("receiptd_build_info", help: "1, labelled with the version.", labels: ["version"])
            .with(version).set(1)
        ProcessMetrics.declare(in: registry)
        declareKnownSeries()
    }

    /// Creates the series that alerts watch, with the value 0. If a series begins at 1, Prometheus sees no increase.
    private func declareKnownSeries() {
        _ = outcomes.with(OutcomeEvent.Kind.granted.rawValue, "")
        // An alert fires at the first hold with this reason, so Prometheus must see the rise from 0.
        _ = outcomes.with(OutcomeEvent.Kind.held.rawValue, Reason.kindMismatch.rawValue)
        for signal in RiskSignal.allCases { _ = riskSignals.with(signal.rawValue) }
        for reason in DeadLetter.Reason.allCases { _ = deadLetters.with(reason.rawValue) }
        _ = parkings.with(ParkingReason.crashed.rawValue)
        for kind in ["held", "announced"] { _ = crashedPurchases.with(kind) }
        for part in FailingPart.allCases {
            _ = failures.with(part.rawValue)
            _ = failing.with(part.rawValue)
        }
        for result in ["right", "wrong", "refused"] { _ = consoleSignIns.with(result) }
        for clock in ["postgresql", "record", "apple"] { _ = clockSkew.with(clock) }
    }
}
