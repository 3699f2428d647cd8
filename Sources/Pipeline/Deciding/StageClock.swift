import NamesAndTimes
import Operations

/// The stages of a submission. Their names are the label values of `receiptd_stage_duration_seconds{stage}`.
enum Stage: String, CaseIterable {
    /// The wait for earlier submissions of the player.
    case turn
    case recall
    /// The wait for Apple's answer, including the wait for a turn at Apple.
    case ask
    case record
    case publish
}

/// Measures the stages of one submission.
struct StageClock {
    private let metrics: PipelineMetrics
    private var last = WallClock.monotonicSeconds

    init(_ metrics: PipelineMetrics) { self.metrics = metrics }

    /// Adds the time since the last mark to `stage`.
    mutating func mark(_ stage: Stage) {
        let now = WallClock.monotonicSeconds
        metrics.stages[stage]?.observe(now - last)
        last = now
    }
}
