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

/// The place up to which workers have processed one notification history, under a lease. In each round a worker
/// processes the history from about this place to the present.
public struct HistoryPlace: Sendable, Equatable {
    /// A notification that a process was processing in isolation when the process died.
    public struct Culprit: Sendable, Equatable {
        public let name: Digest256
        public let deaths: Int

        public init(name: Digest256, deaths: Int) {
            self.name = name
            self.deaths = deaths
        }
    }

    public let scope: HistoryScope
    /// The effects of all notifications that Apple first sent before this time are committed; nil before the first
    /// round.
    public var takenUntil: Timestamp?
    /// The time of the lease by the database's clock.
    public let now: Timestamp
    /// The number that distinguishes this lease from a later lease.
    public var lease: Int64
    /// The next page of a window that workers have processed in part; nil if there is none.
    public var page: HistoryPage?
    /// The number of leases since a worker last finished a page or released a lease, including this lease. Each earlier
    /// lease may have ended with the death of its worker.
    public var starts = 1
    /// The notification with which a process last died, with the number of deaths; nil if there is none.
    public var culprit: Culprit?
    /// The notifications that killed processes and became dead letters.
    public var setAside: Set<Digest256> = []

    public init(scope: HistoryScope, takenUntil: Timestamp?, now: Timestamp, lease: Int64) {
        self.scope = scope
        self.takenUntil = takenUntil
        self.now = now
        self.lease = lease
    }
}

/// A page of a window. The effects of all notifications before the page are committed.
public struct HistoryPage: Sendable, Equatable {
    public let window: NotificationHistoryWindow
    /// Apple's `paginationToken`. It is valid only with this window, and only for a limited time.
    public let token: String

    public init(window: NotificationHistoryWindow, token: String) {
        self.window = window
        self.token = token
    }
}

/// A step by which a place moves.
public enum HistoryStep: Sendable, Equatable {
    /// The place moves to the next page of its window.
    case page(HistoryPage)
    /// The place moves to the end of its window, which is at this time.
    case windowEnd(Timestamp)
}

/// The result of moving a place.
public enum HistoryMove: Sendable, Equatable {
    case moved(HistoryPlace)
    /// The lease is over.
    case lost
    /// The place stays. The database server started again or fell back after receiptd stored the effects, so the
    /// database may lack some of the effects.
    case otherDatabase
}

/// Stores the places of notification histories. One replica at a time reads a history.
public protocol HistoryPlaces: Sendable {
    /// Leases a history. Returns nil if another replica has the lease, or if the history is not due.
    /// - Parameter survived: the last notification that this process processed in isolation without dying; nil if there
    ///   is none.
    func lease(_ scope: HistoryScope, survived: Digest256?, seconds: Double) async throws -> HistoryPlace?
    /// Moves the place, and extends the lease.
    /// - Parameter effects: the database histories in which receiptd stored the effects of all notifications before
    ///   `step`. A database history lasts from one start, fail-over or restore of the server to the next. If the
    ///   database has a different history now, the place stays.
    func advance(
        _ place: HistoryPlace, to step: HistoryStep, behind effects: Set<DatabaseHistory>, seconds: Double
    ) async throws -> HistoryMove
    /// Stores or withdraws the accusation against the isolated notification, and extends the lease. The accusation
    /// makes a death of the process count against the notification. Returns nil if the lease is over. The caller stores
    /// the accusation before the work, withdraws the accusation while the process only waits, and then stores it again.
    /// - Parameter name: the notification; nil to withdraw the accusation.
    func suspect(_ name: Digest256?, _ place: HistoryPlace, seconds: Double) async throws -> HistoryPlace?
    /// Stores that the notification became a dead letter, so that no worker processes it again.
    func setAside(_ name: Digest256, _ place: HistoryPlace) async throws
    /// Ends the lease. Nothing happens if the lease is over.
    func release(_ place: HistoryPlace, dueAfterSeconds seconds: Double) async throws
}

extension HistoryPlace {
    /// Each round begins this many milliseconds before the place, because Apple lists some notifications late.
    static let overlapMilliseconds: Int64 = 3_600_000
    /// The shortest window in milliseconds. Windows grow while each has at most one page, so that a quiet month does
    /// not need a hundred requests.
    static let windowMilliseconds: Int64 = 6 * 3_600_000
    static let longestWindowMilliseconds: Int64 = 7 * 86_400_000
    /// The clocks of a primary and of its successor may differ by at most this many milliseconds.
    static let toleranceMilliseconds: Int64 = 600_000
    private static let dayMilliseconds: Int64 = 86_400_000

    /// Returns the most days that a round may go back: one day less than Apple keeps notifications.
    static func longestDays(in environment: StoreEnvironment) -> Int64 { environment == .production ? 179 : 29 }

    /// Returns the time at which a round begins.
    /// - Parameter days: the days that the first round goes back.
    public func start(days: Int) -> Timestamp {
        let longest = Self.longestDays(in: scope.environment)
        let earliest = now.milliseconds - longest * Self.dayMilliseconds
        // A place in the future does not count. A worker stored it while the database's clock was ahead.
        guard let takenUntil, takenUntil.milliseconds <= now.milliseconds + Self.toleranceMilliseconds else {
            return Timestamp(milliseconds: now.milliseconds - min(Int64(days), longest) * Self.dayMilliseconds)
        }
        return Timestamp(milliseconds: max(takenUntil.milliseconds - Self.overlapMilliseconds, earliest))
    }

    /// The page with which the round continues a window; nil if the round begins with a new window.
    public var unfinished: HistoryPage? {
        // The unfinished window may begin up to half a day before the earliest new window, because a worker began it a
        // while ago. Apple still keeps the window's notifications.
        let longest = Self.longestDays(in: scope.environment) * Self.dayMilliseconds + Self.dayMilliseconds / 2
        guard let page, page.window.from.milliseconds >= now.milliseconds - longest,
            // A worker stored a window that ends in the future while the database's clock was ahead.
            page.window.to.milliseconds <= now.milliseconds + Self.toleranceMilliseconds
        else { return nil }
        // Another version of receiptd may have moved the place past this page.
        guard let takenUntil else { return page }
        return page.window.from.milliseconds >= takenUntil.milliseconds - Self.overlapMilliseconds ? page : nil
    }

    /// Returns the window that begins at `from`; nil at the end of the round.
    /// - Parameter sparse: the number of windows in a row, right before this window, that had at most one page.
    public func window(from: Timestamp, sparse: Int = 0) -> NotificationHistoryWindow? {
        guard from < now else { return nil }
        let length = min(Self.windowMilliseconds << Int64(min(sparse, 8)), Self.longestWindowMilliseconds)
        let end = min(from.milliseconds + length, now.milliseconds)
        return NotificationHistoryWindow(from: from, to: Timestamp(milliseconds: end))
    }
}
