import NamesAndTimes

/// The app and environment of one of Apple's notification histories.
public struct HistoryScope: Sendable, Hashable {
    public let bundleID: BundleID
    public let environment: StoreEnvironment

    public init(bundleID: BundleID, environment: StoreEnvironment) {
        self.bundleID = bundleID
        self.environment = environment
    }
}

/// The place up to which one history was taken, under a lease.
public struct HistoryPlace: Sendable, Equatable {
    /// A notification during which the process died.
    public struct Culprit: Sendable, Equatable {
        public let name: Digest256
        public let deaths: Int

        public init(name: Digest256, deaths: Int) {
            self.name = name
            self.deaths = deaths
        }
    }

    public let scope: HistoryScope
    /// Everything that Apple tried to send before it is durable here; nil where nothing was asked for yet.
    public var takenUntil: Timestamp?
    /// The time of the lease by the database's clock.
    public let now: Timestamp
    /// The number that tells this lease from a later one.
    public var lease: Int64
    /// The next page of a window that is taken in part.
    public var page: HistoryPage?
    /// Leases since a page was last taken, this one included, without those that were ended: each may be a death.
    public var starts = 1
    /// The one during which the process died last, and how often it did.
    public var culprit: Culprit?
    /// The notifications that killed the process, and are dead letters.
    public var setAside: Set<Digest256> = []

    public init(scope: HistoryScope, takenUntil: Timestamp?, now: Timestamp, lease: Int64) {
        self.scope = scope
        self.takenUntil = takenUntil
        self.now = now
        self.lease = lease
    }
}

/// A page of a window: everything before it is durable.
public struct HistoryPage: Sendable, Equatable {
    public let window: NotificationHistoryWindow
    /// Apple's `paginationToken`. It is of use with this window only, and ends some time.
    public let token: String

    public init(window: NotificationHistoryWindow, token: String) {
        self.window = window
        self.token = token
    }
}

/// The step by which a place is to move.
public enum HistoryStep: Sendable, Equatable {
    /// The place moves to a further page of its window.
    case page(HistoryPage)
    /// The place behind a window that ends then.
    case windowEnd(Timestamp)
}

/// The result of moving a place.
public enum HistoryMove: Sendable, Equatable {
    case moved(HistoryPlace)
    /// The lease is over.
    case lost
    /// The place stays: the database has become another one, which may lack effects.
    case otherDatabase
}

/// The seam to where the places of histories are kept: one replica at a time asks for one of them.
public protocol HistoryPlaces: Sendable {
    /// Nil where another replica has it, or where it is not due.
    /// - Parameter survived: what this process took by itself last: it did not die of it.
    func lease(_ scope: HistoryScope, survived: Digest256?, seconds: Double) async throws -> HistoryPlace?
    /// Moves it, and makes the lease longer.
    /// - Parameter effects: of the databases that took what was told before `step`: it moves in no other.
    func advance(
        _ place: HistoryPlace, to step: HistoryStep, behind effects: Set<DatabaseHistory>, seconds: Double
    ) async throws -> HistoryMove
    /// Before a notification is taken with nothing else in flight, and again before it goes on; makes the lease longer. Nil where
    /// that is over.
    /// - Parameter name: nil while the notification only waits: a death of the process is not counted against it.
    func suspect(_ name: Digest256?, _ place: HistoryPlace, seconds: Double) async throws -> HistoryPlace?
    /// Makes the notification a dead letter, which is not taken again.
    func setAside(_ name: Digest256, _ place: HistoryPlace) async throws
    /// Ends the lease, where it is not over.
    func release(_ place: HistoryPlace, dueAfterSeconds seconds: Double) async throws
}

extension HistoryPlace {
    /// Asked for again at each round: Apple lists some a while after it tried to send them.
    static let overlapMilliseconds: Int64 = 3_600_000
    /// The length of one window. Where little comes a window is longer, so that a month in which nothing happened is
    /// not asked for in a hundred questions.
    static let windowMilliseconds: Int64 = 6 * 3_600_000
    static let longestWindowMilliseconds: Int64 = 7 * 86_400_000
    /// The clocks of a primary and of the replica that takes its place differ.
    static let toleranceMilliseconds: Int64 = 600_000
    private static let dayMilliseconds: Int64 = 86_400_000

    /// A day less than Apple keeps.
    static func longestDays(in environment: StoreEnvironment) -> Int64 { environment == .production ? 179 : 29 }

    /// The beginning of a round.
    /// - Parameter days: how far back at first.
    public func start(days: Int) -> Timestamp {
        let longest = Self.longestDays(in: scope.environment)
        let earliest = now.milliseconds - longest * Self.dayMilliseconds
        // A place ahead of the clock was written while that was ahead: it says nothing.
        guard let takenUntil, takenUntil.milliseconds <= now.milliseconds + Self.toleranceMilliseconds else {
            return Timestamp(milliseconds: now.milliseconds - min(Int64(days), longest) * Self.dayMilliseconds)
        }
        return Timestamp(milliseconds: max(takenUntil.milliseconds - Self.overlapMilliseconds, earliest))
    }

    /// The page to go on with where a window was left in part; nil where a round begins with a window.
    public var unfinished: HistoryPage? {
        // Half of the day that is left to what Apple keeps: the window began a while ago.
        let longest = Self.longestDays(in: scope.environment) * Self.dayMilliseconds + Self.dayMilliseconds / 2
        guard let page, page.window.from.milliseconds >= now.milliseconds - longest,
            // One that ends ahead of the clock was written while that was ahead.
            page.window.to.milliseconds <= now.milliseconds + Self.toleranceMilliseconds
        else { return nil }
        // Another version moved the place since.
        guard let takenUntil else { return page }
        return page.window.from.milliseconds >= takenUntil.milliseconds - Self.overlapMilliseconds ? page : nil
    }

    /// The window that begins at `from`; nil where the round is at its end.
    /// - Parameter sparse: how many windows before it held no more than a page, one after the other.
    public func window(from: Timestamp, sparse: Int = 0) -> NotificationHistoryWindow? {
        guard from < now else { return nil }
        let length = min(Self.windowMilliseconds << Int64(min(sparse, 8)), Self.longestWindowMilliseconds)
        let end = min(from.milliseconds + length, now.milliseconds)
        return NotificationHistoryWindow(from: from, to: Timestamp(milliseconds: end))
    }
}
