import Fulfillment
import NamesAndTimes
import Operations

/// The metrics that the pipeline counts. Metrics of the hot path are looked up once. A class, because the clock of each
/// submission holds it.
final class PipelineMetrics: Sendable {
    let all: ReceiptdMetrics
    /// The collected failures of parts that run by themselves.
    let failures: Failures
    let stages: [Stage: Histogram]
    private let classes: [TrafficClass: Counter]
    private let outcomes: [OutcomeEvent.Kind: [Reason?: Counter]]

    init(_ metrics: ReceiptdMetrics, failures: Failures = Failures()) {
        all = metrics
        self.failures = failures
        stages = Dictionary(
            uniqueKeysWithValues: Stage.allCases.map { ($0, metrics.stageDuration.with($0.rawValue)) })
        classes = Dictionary(
            uniqueKeysWithValues: TrafficClass.allCases.map { ($0, metrics.submissions.with($0.rawValue)) })
        var outcomes: [OutcomeEvent.Kind: [Reason?: Counter]] = [:]
        // Only the series of grants exists from the start. Any other pair of kind and reason gets a series once it
        // occurs.
        outcomes[.granted] = [nil: metrics.outcomes.with(OutcomeEvent.Kind.granted.rawValue, "")]
        self.outcomes = outcomes
    }

    var recalled: Counter { all.recalled }
    var retries: Counter { all.retries }

    func deadLetter(_ reason: DeadLetter.Reason) {
        all.deadLetters.with(reason.rawValue).increment()
        switch reason {
        case .crashed: all.incidents.note(.crashed, of: "a record")
        case .unreadableBatch: all.incidents.note(.unreadableBatch)
        default: break
        }
    }

    func lacksServerAPI(_ bundleID: BundleID, _ isLacking: Bool) {
        all.misconfiguration.set(
            bundleID.text, AppleAnswer.Blockage.noServerAPI.rawValue,
            because: isLacking ? MissingCredentials.sentence : nil)
    }

    /// Counts each event, and once the submission's class and the seconds from its record to its answer. `events` has
    /// at least one event.
    func published(_ events: [OutcomeEvent], _ origin: AnswerOrigin, recordedAt: Timestamp, now: Timestamp) {
        for event in events { published(event) }
        classes[TrafficClass(events, origin)]?.increment()
        // A record without a time has no known age.
        guard recordedAt.milliseconds > 0 else { return }
        all.submissionDuration.observe(Double(max(0, now.milliseconds - recordedAt.milliseconds)) / 1000)
    }

    /// Counts one event, for instance one that no submission waits for.
    func published(_ event: OutcomeEvent) {
        let counter =
            outcomes[event.kind]?[event.reason]
            ?? all.outcomes.with(event.kind.rawValue, event.reason?.rawValue ?? "")
        counter.increment()
        if event.kind == .held, event.reason == .kindMismatch { all.incidents.note(.kindMismatch) }
        // A sender may make up an app's name, so that an unknown app gets no series of its own.
        let isKnown = event.reason != .unknownApp && event.reason != .malformedSubmission
        all.appOutcomes.with(isKnown ? event.bundleID?.text ?? "other" : "other", event.kind.rawValue).increment()
        for signal in event.risk { all.riskSignals.with(signal.rawValue).increment() }
    }
}
