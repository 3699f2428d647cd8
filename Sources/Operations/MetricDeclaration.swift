/// A metric's name, help text, labels and buckets. For the metrics in the contract, name and labels must not change.
struct MetricDeclaration: Sendable {
    let name: String
    let help: String
    let labels: [String]
    /// The upper bounds of a histogram's buckets: inclusive, ascending and finite.
    let buckets: [Double]

    init(_ name: String, help: String, labels: [String] = [], buckets: [Double] = []) {
        self.name = name
        self.help = help
        self.labels = labels
        self.buckets = buckets
    }
}

extension MetricsRegistry {
    func counter(_ declared: MetricDeclaration) -> CounterFamily {
        counter(declared.name, help: declared.help, labels: declared.labels)
    }

    func gauge(_ declared: MetricDeclaration) -> GaugeFamily {
        gauge(declared.name, help: declared.help, labels: declared.labels)
    }

    func histogram(_ declared: MetricDeclaration) -> HistogramFamily {
        histogram(declared.name, help: declared.help, labels: declared.labels, buckets: declared.buckets)
    }
}

extension MetricDeclaration {
    static let outcomes = Self(
        "receiptd_outcomes_total", help: "Outcome events decided, by type and reason.", labels: ["type", "reason"])
    static let appOutcomes = Self(
        "receiptd_app_outcomes_total",
        help: "Outcome events decided, by app and type. `other` is for all apps outside the catalog.",
        labels: ["bundle_id", "type"])
    static let deadLetters = Self(
        "receiptd_dead_letters_total", help: "Records sent to the dead-letter topic.", labels: ["reason"])
    static let appleRequests = Self(
        "receiptd_apple_requests_total", help: "Requests to Apple that ended, by result.",
        labels: ["endpoint", "environment", "result"])
    static let appleRequestDuration = Self(
        "receiptd_apple_request_duration_seconds", help: "Time from a request to Apple to its answer or failure.",
        buckets: Buckets.request)
    static let appleConcurrencyLimit = Self(
        "receiptd_apple_concurrency_limit", help: "Adaptive limit of the requests to Apple in flight.")
    static let appleCircuitOpen = Self(
        "receiptd_apple_circuit_open", help: "1 while requests to this endpoint are held back after failures.",
        labels: ["bundle_id", "endpoint"])
    static let inFlight = Self("receiptd_in_flight", help: "Submissions in memory.")
    static let parked = Self(
        "receiptd_parked", help: "Submissions of the fleet that wait in PostgreSQL for their next try.")
    static let held = Self("receiptd_held", help: "Transactions of the fleet that wait for an operator.")
    static let outboxPending = Self(
        "receiptd_outbox_pending", help: "Events of the fleet that are decided and not yet published.")
    static let consumerLag = Self(
        "receiptd_consumer_lag",
        help: "Records of the partition from the first record that the worker has not finished to the end.",
        labels: ["topic", "partition"])
    static let assignedPartitions = Self(
        "receiptd_assigned_partitions", help: "Partitions of the submissions topic that this replica reads.")
    static let ready = Self("receiptd_ready", help: "1 while /readyz says ready.")
    static let failures = Self(
        "receiptd_failures_total", help: "Failures of background parts, by part.", labels: ["part"])
    static let failing = Self(
        "receiptd_failing", help: "1 while a part fails, and until it has worked for a while.", labels: ["part"])
    static let foreignRoots = Self(
        "receiptd_foreign_roots",
        help: "Trusted root certificates that are not Apple's.")
    static let clockSkew = Self(
        "receiptd_clock_skew_seconds", help: "Seconds by which this process's clock is ahead; below 0 if it is behind.",
        labels: ["against"])
    static let httpConnectionsEvicted = Self(
        "receiptd_http_connections_evicted_total",
        help: "Connections that the HTTP server closed because there were too many.")
    static let consoleSignIns = Self(
        "receiptd_console_sign_ins_total", help: "Tries to sign in to the console: right, wrong, or too many at once.",
        labels: ["result"])
    static let consoleChanges = Self(
        "receiptd_console_changes_total", help: "Changes that were made with the console.", labels: ["change"])
    static let submissionDuration = Self(
        "receiptd_submission_duration_seconds", help: "Time from a record's timestamp to its published outcome.",
        buckets: Buckets.submission)
    static let misconfigured = Self(
        "receiptd_misconfigured", help: "1 while an app's submissions wait for an operator to correct its settings.",
        labels: ["bundle_id"])
    static let credentialsDoubted = Self(
        "receiptd_credentials_doubted",
        help:
            "1 while Apple refuses an app's shared secret for all of its receipts, and receiptd can prove none of them.",
        labels: ["bundle_id"])
    static let appleDown = Self(
        "receiptd_apple_down",
        help: "1 while the worker holds back requests to Apple for every app and endpoint in use.")
    static let appleNoAnswer = Self(
        "receiptd_apple_no_answer", help: "Number of Apple's addresses that do not answer now.")
    static let appleWait = Self(
        "receiptd_apple_wait_seconds",
        help: "How long requests waited for a circuit, a Retry-After or the budget; only requests that had to wait.",
        buckets: Buckets.request)
    static let incidentTimestamp = Self(
        "receiptd_incident_timestamp_seconds",
        help: "UNIX time of the fleet's last incident of this kind within 90 days; 0: none.", labels: ["kind"])
    static let incidents = Self(
        "receiptd_incidents", help: "The fleet's incidents of this kind within 90 days.", labels: ["kind"])
    static let databaseFallbacks = Self(
        "receiptd_database_fallbacks_total",
        help: """
            How often a worker read a partition again from below Kafka's offset, because PostgreSQL lacked decisions, \
            or found that PostgreSQL lacked a published grant.
            """)
    static let offsetResets = Self(
        "receiptd_offset_resets_total",
        help: "Partitions whose committed offset or next record no longer existed.")
    static let notifications = Self(
        "receiptd_notifications_total", help: "App Store Server Notifications taken, by type and result.",
        labels: ["type", "result"])
    static let announced = Self(
        "receiptd_announced_total",
        help: "Purchases that Apple announced and nobody submitted, by source and outcome.",
        labels: ["source", "outcome", "reason"])
    static let crashedPurchases = Self(
        "receiptd_crashed_purchases_total",
        help: "Held and announced purchases that killed their workers and were set aside.", labels: ["kind"])
    static let unclaimed = Self(
        "receiptd_unclaimed", help: "Purchases of the fleet that Apple announced and that belong to no known player.")
    static let unknownAppsDropped = Self(
        "receiptd_unclaimed_dropped_total",
        help: "Unclaimed purchases of apps that the catalog does not have, forgotten because there were too many.")
    static let isolating = Self(
        "receiptd_isolating", help: "1 while records that may have killed the process are taken one at a time.")
    static let subscriptions = Self(
        "receiptd_subscriptions", help: "Subscriptions that the fleet follows, by state.", labels: ["state"])
    static let subscriptionChecksOverdue = Self(
        "receiptd_subscription_checks_overdue",
        help: "Subscriptions about which the fleet should have asked Apple more than an hour ago.")
    static let finishes = Self(
        "receiptd_finishes_total",
        help: "Deliveries that were due to be reported to Apple, by result.",
        labels: ["result"])
    static let consumptionAnswers = Self(
        "receiptd_consumption_answers_total", help: "Answers to Apple's questions about refunds, by result.",
        labels: ["result"])
    static let localRefusalsDisputed = Self(
        "receiptd_local_refusals_disputed_total",
        help: "Receipts that receiptd rejected and Apple calls genuine, by the reason of the rejection.",
        labels: ["reason"])
    static let proofsRepaired = Self(
        "receiptd_proofs_repaired_total",
        help: "Submissions whose proof had to be repaired before it was proven, by what was repaired.",
        labels: ["repair"])
    static let recordsWithOtherKey = Self(
        "receiptd_records_with_other_key_total",
        help: "Submissions whose record key is not their player_id, so that their order is not kept.")
    static let oldestInFlightSeconds = Self(
        "receiptd_oldest_in_flight_seconds", help: "How long the oldest submission in memory has been there.")
    static let inFlightBytes = Self("receiptd_in_flight_bytes", help: "Bytes of the submissions in memory.")
    static let databaseBatchRows = Self(
        "receiptd_database_batch_rows", help: "Submissions decided in one database transaction.", buckets: Buckets.rows)
    static let databaseCommitDuration = Self(
        "receiptd_database_commit_duration_seconds", help: "Duration of a database transaction, BEGIN to COMMIT.",
        buckets: Buckets.stage)
    static let stageDuration = Self(
        "receiptd_stage_duration_seconds", help: "Time that a submission spends in one stage.",
        labels: ["stage"], buckets: Buckets.stage)
    static let paused = Self(
        "receiptd_paused", help: "1 while the worker fetches no records, because those in memory reached a limit.")
    static let rebalances = Self(
        "receiptd_rebalances_total", help: "Times that Kafka assigned partitions to this worker or revoked them.")
    static let retries = Self(
        "receiptd_retries_total", help: "Tries of submissions and released holds that ended without a verdict.")
    static let recalled = Self(
        "receiptd_recalled_total",
        help: "Submissions whose record, or all of whose purchases, the ledger already had.")
    static let submissions = Self(
        "receiptd_submissions_total", help: "Submissions answered, by class of traffic.", labels: ["class"])
    static let replayingPlayers = Self(
        "receiptd_replaying_players_total",
        help: "Players who sent ten submissions of others' purchases within 30 days.")
    static let constantTokens = Self(
        "receiptd_constant_account_tokens_total",
        help: "Account tokens that more than five players sent: they identify nobody any more.")
    static let disputedTokens = Self(
        "receiptd_disputed_account_tokens_total",
        help: "Purchases that were held because another player used the purchase's account token first.")
    static let riskSignals = Self(
        "receiptd_risk_signals_total", help: "Granted and held events that carry a risk signal, by signal.",
        labels: ["signal"])
    static let parkings = Self(
        "receiptd_parkings_total", help: "Submissions that left memory to wait in PostgreSQL, by reason.",
        labels: ["reason"])
}

private enum Buckets {
    /// Bounds in seconds, from 5 ms to 30 s. The default time-out of a request is 10 s.
    static let request = [0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1, 1.5, 2.5, 5, 10, 30]
    /// Bounds in seconds, from 5 ms to 300 s, which is the longest delay between two tries.
    static let submission = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300]
    /// Bounds in seconds, from 0.5 ms to 10 s.
    static let stage = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]
    static let rows: [Double] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000]
}
