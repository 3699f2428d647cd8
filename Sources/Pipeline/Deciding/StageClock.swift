import NamesAndTimes
import Operations

/// The stages that a submission waits in, as `receiptd_stage_duration_seconds{stage}` tells them.
enum Stage: String, CaseIterable {
    /// The time behind earlier submissions of the player.
    case turn
    case recall
    /// The time for Apple's answer, with the wait for a place in front of it.
    case ask
    case record
    case publish
}

/// Measures the stages of one submission.
struct StageClock {
    private let metrics: PipelineMetrics
    private var last = WallClock.monotonicSeconds

    init(_ metrics: PipelineMetrics) { self.metrics = metrics }

    /// Counts the time since the last mark for `stage`.
    mutating func mark(_ stage: Stage) {
        let now = WallClock.monotonicSeconds
        metrics.stages[stage]?.observe(now - last)
        last = now
    }
}
