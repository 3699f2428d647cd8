import Fulfillment
import NamesAndTimes
import Operations

/// The metrics that the pipeline counts. `init` looks up the metrics of the hot path once. A class, because each
/// submission's clock refers to it.
final class PipelineMetrics: Sendable {
    let all: ReceiptdMetrics
    /// The failures of all parts of the process.
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
        // Only the series of grants exists from the start. Any other pair of kind and reason gets its series when it
        // first occurs.
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

    /// Counts each event. Counts the submission's class once, and the seconds from its record to its events. `events`
    /// is not empty.
    func published(_ events: [OutcomeEvent], _ origin: AnswerOrigin, recordedAt: Timestamp, now: Timestamp) {
        for event in events { published(event) }
        classes[TrafficClass(events, origin)]?.increment()
        // A record without a time has no known age.
        guard recordedAt.milliseconds > 0 else { return }
        all.submissionDuration.observe(Double(max(0, now.milliseconds - recordedAt.milliseconds)) / 1000)
    }

    /// Counts one event. For an event that belongs to no submission, callers call only this function.
    func published(_ event: OutcomeEvent) {
        let counter =
            outcomes[event.kind]?[event.reason]
            ?? all.outcomes.with(event.kind.rawValue, event.reason?.rawValue ?? "")
        counter.increment()
        if event.kind == .held, event.reason == .kindMismatch { all.incidents.note(.kindMismatch) }
        // A sender can invent an app's name, so an unknown app gets no series of its own.
        let isKnown = event.reason != .unknownApp && event.reason != .malformedSubmission
        all.appOutcomes.with(isKnown ? event.bundleID?.text ?? "other" : "other", event.kind.rawValue).increment()
        for signal in event.risk { all.riskSignals.with(signal.rawValue).increment() }
    }
}
