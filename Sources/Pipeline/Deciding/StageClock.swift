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
    /// A hold's stages are not the record's: that was answered long ago.
    private let isCounted: Bool
    private var last = WallClock.monotonicSeconds

    init(of item: SubmissionInHand, in metrics: PipelineMetrics) {
        self.metrics = metrics
        isCounted = !item.isHeld
    }

    /// Counts the time since the last mark for `stage`.
    mutating func mark(_ stage: Stage) {
        guard isCounted else { return }
        let now = WallClock.monotonicSeconds
        metrics.stages[stage]?.observe(now - last)
        last = now
    }
}
