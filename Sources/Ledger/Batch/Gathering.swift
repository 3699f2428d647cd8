import Foundation

/// The time that a writer waits behind a batch, so that the next one is larger: a transaction costs the database as
/// much as dozens of its rows. It follows the rate at which work comes, and with little to do there is no wait.
struct Gathering {
    /// The seconds over which the rate is taken: a burst counts soon, and a pause soon ends it.
    private static let memory = 0.5

    /// The wait for each submission of a batch of dozens. They come so where work waits for its turn anyway, and twice
    /// the batch is a sixth less for the database.
    private static let busyDelayPerSubmission = Duration.microseconds(200)

    /// The number of further decisions that are worth the wait behind a small batch: each of them would wait as long as
    /// they take to come.
    private static let enough = 4.0

    /// A batch of this size is of dozens, or nearly.
    let busyGroup: Int
    /// The delay behind such a batch at least.
    let busyDelay: Duration
    /// The delay behind any batch.
    let longestDelay: Duration
    /// The part of the wait behind a small batch, if a submission waits elsewhere too.
    let share: Double
    private var perSecond = 0.0
    private var last: ContinuousClock.Instant?

    init(busyGroup: Int, busyDelay: Duration, longestDelay: Duration, share: Double = 1) {
        self.busyGroup = max(1, busyGroup)
        self.busyDelay = busyDelay
        self.longestDelay = longestDelay
        self.share = share
    }

    /// - Parameters:
    ///   - count: of the batch that has just been written.
    ///   - now: never before that of the last call.
    ///   - bound: of the delay behind a batch that is not large enough, where it is shorter than the longest.
    mutating func delay(
        behind count: Int, now: ContinuousClock.Instant, atMost bound: Duration? = nil
    ) -> Duration {
        let elapsed = last.map { max(0, (now - $0).inSeconds) } ?? .infinity
        last = now
        perSecond = perSecond * exp(-elapsed / Self.memory) + Double(count) / Self.memory
        if count >= busyGroup { return min(longestDelay, max(busyDelay, Self.busyDelayPerSubmission * count)) }
        let delay = min(longestDelay, bound ?? longestDelay, .seconds(Self.enough / perSecond)) * share
        // The wait is not worth it if nobody is likely to come.
        return perSecond * delay.inSeconds >= 1 ? delay : .zero
    }
}
