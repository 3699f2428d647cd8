import Synchronization

/// Posts the App Store's notifications to a server, and loses, duplicates or delays some of them. The notification
/// history shows the result of each post.
public final class NotificationDelivery: Sendable {
    public struct Accidents: Sendable {
        /// The share of the notifications that are lost, from 0 to 1. The game's server can find a lost notification
        /// only in Apple's notification history.
        public var lost = 0.0
        public var duplicated = 0.0
        /// The share of the notifications that are posted late, by up to `lateMilliseconds`. Newer notifications
        /// overtake a late notification.
        public var late = 0.0
        public var lateMilliseconds: Int64 = 2000
        public var seed: UInt64 = 1

        public init() {}
    }

    public struct Tally: Sendable, Hashable, Codable {
        public var posted = 0
        public var accepted = 0
        public var lost = 0
        public var duplicated = 0
        public var late = 0
    }

    private static let width = 32
    /// The most tries for one notification, including the first. Apple also makes six tries, spread over days.
    private static let attempts = 6

    private let accidents: Accidents
    private let poster: NotificationPoster?
    private let stream: AsyncStream<SignedNotification>
    private let continuation: AsyncStream<SignedNotification>.Continuation
    private let state: Mutex<(random: SplitMix64, tally: Tally)>

    /// Returns nil if the address is not plain HTTP.
    /// - Parameter url: the server's address. If it is nil, no notification is posted, and only the history has the
    ///   notifications.
    public init?(to url: String?, _ accidents: Accidents = Accidents()) {
        poster = url.flatMap { NotificationPoster(url: $0) }
        guard (url == nil) == (poster == nil) else { return nil }
        self.accidents = accidents
        (stream, continuation) = AsyncStream.makeStream()
        state = Mutex((SplitMix64(seed: accidents.seed), Tally()))
    }

    public var tally: Tally { state.withLock { $0.tally } }

    /// Adds a notification to post. `AppStoreSimulation.Options.notified` can be this function.
    public func add(_ notification: SignedNotification) { continuation.yield(notification) }

    /// Ends the stream of notifications. `run` returns once each added notification is accepted, lost, or given up
    /// after its last try.
    public func finish() { continuation.finish() }

    /// Posts the added notifications, several at once. A call of `finish` ends this work.
    public func run(_ apple: AppStoreSimulation) async {
        await withTaskGroup(of: Void.self) { group in
            var underWay = 0
            for await notification in stream {
                if underWay == Self.width, await group.next() != nil { underWay -= 1 }
                group.addTask { await self.deliver(notification, apple) }
                underWay += 1
            }
        }
    }

    private struct Fate {
        let isLost: Bool
        let copies: Int
        let delay: Int64
    }

    private func decide() -> Fate {
        state.withLock { state in
            let isLost = poster == nil || state.random.unit() < accidents.lost
            let isDuplicated = !isLost && state.random.unit() < accidents.duplicated
            let isLate = !isLost && state.random.unit() < accidents.late
            if isLost { state.tally.lost += 1 }
            if isDuplicated { state.tally.duplicated += 1 }
            if isLate { state.tally.late += 1 }
            let delay = isLate ? Int64(state.random.unit() * Double(accidents.lateMilliseconds)) : 0
            return Fate(isLost: isLost, copies: isDuplicated ? 2 : 1, delay: delay)
        }
    }

    private func deliver(_ notification: SignedNotification, _ apple: AppStoreSimulation) async {
        let fate = decide()
        guard let poster, !fate.isLost else {
            enter(.noResponse, of: notification, apple)
            return
        }
        if fate.delay > 0 { try? await Task.sleep(for: .milliseconds(fate.delay)) }
        for _ in 0..<fate.copies {
            var attempt = 1
            while await post(notification, by: poster, apple) != .success, attempt < Self.attempts, !Task.isCancelled {
                try? await Task.sleep(for: .milliseconds(100 << attempt))
                attempt += 1
            }
        }
    }

    private func post(
        _ notification: SignedNotification, by poster: NotificationPoster, _ apple: AppStoreSimulation
    ) async -> ToldNotification.AttemptResult {
        let result = await poster.post(notification.body)
        state.withLock {
            $0.tally.posted += 1
            if result == .success { $0.tally.accepted += 1 }
        }
        enter(result, of: notification, apple)
        return result
    }

    /// Stores the result of a post in the notification history, if the store still knows the notification.
    private func enter(
        _ result: ToldNotification.AttemptResult, of notification: SignedNotification, _ apple: AppStoreSimulation
    ) {
        apple.inStore { store in _ = try? store.attempted(notification.id, result) }
    }
}
