import Foundation

/// The delay between a writer's batch and the next one, which lets the next one grow: an SQL transaction costs the
/// database as much as dozens of its rows. The delay follows the rate of incoming work, and is zero at a low rate.
struct Gathering {
    /// The seconds over which the rate is averaged, short enough that a burst or a pause counts soon.
    private static let memory = 0.5

    /// The delay for each submission of a batch of dozens. Such batches form where work waits for its turn anyway, and
    /// a batch of twice the size costs the database a sixth less.
    private static let busyDelayPerSubmission = Duration.microseconds(200)

    /// The number of further decisions that a writer waits for behind a small batch. Each decision waits until the
    /// others have come.
    private static let enough = 4.0

    /// The size from which a batch is busy: it has dozens of submissions, or nearly.
    let busyGroup: Int
    /// The least delay behind a busy batch.
    let busyDelay: Duration
    /// The longest delay behind any batch.
    let longestDelay: Duration
    /// The share of the delay behind a small batch that the writer waits, less than 1 if a submission waits elsewhere
    /// too.
    let share: Double
    private var perSecond = 0.0
    private var last: ContinuousClock.Instant?

    init(busyGroup: Int, busyDelay: Duration, longestDelay: Duration, share: Double = 1) {
        self.busyGroup = max(1, busyGroup)
        self.busyDelay = busyDelay
        self.longestDelay = longestDelay
        self.share = share
    }

    /// Returns the delay behind a batch.
    /// - Parameters:
    ///   - count: the size of the batch that has just been written.
    ///   - now: the present, never before that of the last call.
    ///   - bound: the longest delay behind a batch that is not busy; nil for `longestDelay`.
    mutating func delay(
        behind count: Int, now: ContinuousClock.Instant, atMost bound: Duration? = nil
    ) -> Duration {
        let elapsed = last.map { max(0, (now - $0).inSeconds) } ?? .infinity
        last = now
        perSecond = perSecond * exp(-elapsed / Self.memory) + Double(count) / Self.memory
        if count >= busyGroup { return min(longestDelay, max(busyDelay, Self.busyDelayPerSubmission * count)) }
        let delay = min(longestDelay, bound ?? longestDelay, .seconds(Self.enough / perSecond)) * share
        // The wait is useless if no decision is likely to come meanwhile.
        return perSecond * delay.inSeconds >= 1 ? delay : .zero
    }
}
