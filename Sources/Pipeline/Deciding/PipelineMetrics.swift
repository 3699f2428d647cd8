import Fulfillment
import NamesAndTimes
import Operations

/// The metrics that the pipeline moves. The children of the hot path are looked up once. A class, because each
/// submission's clock holds it.
final class PipelineMetrics: Sendable {
    let all: ReceiptdMetrics
    /// Collects the failures of parts that run by themselves.
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
        // Only the pairs that occur get a series of their own before they occur.
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

    /// Counts each event, and once the submission's class and its time from record to answer. `events` are not empty.
    func published(_ events: [OutcomeEvent], _ origin: AnswerOrigin, recordedAt: Timestamp, now: Timestamp) {
        for event in events { published(event) }
        classes[TrafficClass(events, origin)]?.increment()
        // The age of a record without a time is unknown.
        guard recordedAt.milliseconds > 0 else { return }
        all.submissionDuration.observe(Double(max(0, now.milliseconds - recordedAt.milliseconds)) / 1000)
    }

    /// Counts an event that comes by itself. Its record was answered long ago.
    func published(_ event: OutcomeEvent) {
        let counter =
            outcomes[event.kind]?[event.reason]
            ?? all.outcomes.with(event.kind.rawValue, event.reason?.rawValue ?? "")
        counter.increment()
        if event.kind == .held, event.reason == .kindMismatch { all.incidents.note(.kindMismatch) }
        // Senders make up the names of other apps.
        let isKnown = event.reason != .unknownApp && event.reason != .malformedSubmission
        all.appOutcomes.with(isKnown ? event.bundleID?.text ?? "other" : "other", event.kind.rawValue).increment()
        for signal in event.risk { all.riskSignals.with(signal.rawValue).increment() }
    }
}
