import Foundation

/// The delay between two batches of a writer. It lets the next batch grow, because an SQL transaction costs the
/// database as much as dozens of rows. The delay follows the rate of incoming decisions, and is zero at a low rate.
struct Gathering {
    /// The seconds over which the rate is averaged. They are few, so that a burst or a pause counts soon.
    private static let memory = 0.5

    /// The delay for each submission of a busy batch. After a busy batch, decisions wait anyway. Each submission of a
    /// batch costs the database a sixth less if the batch is twice as large.
    private static let busyDelayPerSubmission = Duration.microseconds(200)

    /// The number of further decisions for which a writer waits after a small batch. Each of these decisions waits for
    /// the others.
    private static let enough = 4.0

    /// The size from which a batch counts as busy, which is some dozens of submissions.
    let busyGroup: Int
    /// The shortest delay after a busy batch.
    let busyDelay: Duration
    /// The longest delay after any batch.
    let longestDelay: Duration
    /// The share of the delay that the writer waits after a small batch. It is below 1 if a submission also waits
    /// elsewhere.
    let share: Double
    private var perSecond = 0.0
    private var last: ContinuousClock.Instant?

    init(busyGroup: Int, busyDelay: Duration, longestDelay: Duration, share: Double = 1) {
        self.busyGroup = max(1, busyGroup)
        self.busyDelay = busyDelay
        self.longestDelay = longestDelay
        self.share = share
    }

    /// Returns the delay after a batch.
    /// - Parameters:
    ///   - count: the size of the batch that has just been written.
    ///   - now: the present time, not before `now` of the last call.
    ///   - bound: the longest delay after a batch that is not busy; nil for `longestDelay`.
    mutating func delay(
        behind count: Int, now: ContinuousClock.Instant, atMost bound: Duration? = nil
    ) -> Duration {
        let elapsed = last.map { max(0, (now - $0).inSeconds) } ?? .infinity
        last = now
        perSecond = perSecond * exp(-elapsed / Self.memory) + Double(count) / Self.memory
        if count >= busyGroup { return min(longestDelay, max(busyDelay, Self.busyDelayPerSubmission * count)) }
        let delay = min(longestDelay, bound ?? longestDelay, .seconds(Self.enough / perSecond)) * share
        // If less than one decision is expected during the delay, the writer does not wait.
        return perSecond * delay.inSeconds >= 1 ? delay : .zero
    }
}
