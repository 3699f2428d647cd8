import NamesAndTimes
import Operations

/// The stages that a submission waits in, as `receiptd_stage_duration_seconds{stage}` tells them.
enum Stage: String, CaseIterable {
    /// Behind earlier submissions of the player.
    case turn
    case recall
    /// For Apple's answer, the wait for a place in front of it included.
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

    /// What passed since the last mark was spent in `stage`.
    mutating func mark(_ stage: Stage) {
        guard isCounted else { return }
        let now = WallClock.monotonicSeconds
        metrics.stages[stage]?.observe(now - last)
        last = now
    }
}
