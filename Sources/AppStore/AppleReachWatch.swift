import Fulfillment
import NamesAndTimes
import Synchronization

/// The process's only `AppleReach`, behind a lock, with the clocks that it needs. A task of the process runs `follow`.
public final class AppleReachWatch: Sendable {
    /// The seconds between two checks for outages that go on.
    private static let lookSeconds = 5.0

    private let reach = Mutex(AppleReach())
    private let tell: @Sendable (AppleReach.News, [AppleReach.Outage]) -> Void
    private let now: @Sendable () -> Double
    private let time: @Sendable () -> Timestamp

    /// - Parameters:
    ///   - now: returns the seconds of a monotonic clock.
    ///   - time: returns the time of the wall clock, for people.
    ///   - tell: a function that gets each `News`, and all outages that go on now. `AppleReachWatch` calls `tell` from
    ///     any thread, one call at a time. `tell` must not block.
    public init(
        now: (@Sendable () -> Double)? = nil, time: (@Sendable () -> Timestamp)? = nil,
        tell: @escaping @Sendable (AppleReach.News, [AppleReach.Outage]) -> Void
    ) {
        self.now = now ?? { WallClock.monotonicSeconds }
        self.time = time ?? { WallClock.now }
        self.tell = tell
    }

    public func note(_ url: String, noAnswer: String?) {
        let now = now()
        reach.withLock { reach in
            guard let news = reach.note(url, noAnswer: noAnswer, now: now, time: time()) else { return }
            tell(news, reach.outages)
        }
    }

    /// The addresses that do not answer now.
    public var outages: [AppleReach.Outage] { reach.withLock(\.outages) }

    /// Until the task is cancelled, reports the outages that go on.
    public func follow() async {
        while (try? await Task.sleep(for: .seconds(Self.lookSeconds))) != nil {
            let now = now()
            reach.withLock { reach in
                for news in reach.look(now: now) { tell(news, reach.outages) }
            }
        }
    }
}
