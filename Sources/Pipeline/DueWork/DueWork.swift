import Fulfillment
import NamesAndTimes
import Operations

/// A table of rows that come due. Each row is a small piece of work, for example one question to Apple.
///
/// `leaseDue` writes the lease before the try. If the process dies during the try, even because of the row, the row is
/// due again when the lease is over, and the worker goes on with other rows. After a lease that did not end in order,
/// the row's next lease is longer, up to a limit. Only the leases of parked submissions and of notification histories
/// keep their length.
///
/// Parked submissions and holds are `IsolatingWork`: a row that kills its worker is found, and `SuspectTurns` says how.
protocol DueWork: Sendable {
    associatedtype Item: Sendable

    /// The part whose loop health watches. `failingPart` is the part that reports failures.
    var part: Health.Part { get }
    var failingPart: FailingPart { get }
    var places: DuePlaces { get }
    /// False if there is no work for this table. The loop then leaves the table alone.
    var isWanted: Bool { get }
    /// The seconds between two looks at the table. Each pause is drawn at random from half to one and a half times as
    /// long.
    var lookSeconds: Double { get }
    /// The seconds that one try may take, including its wait for a turn at Apple; nil if a try ends by itself.
    var trySeconds: Double? { get }
    /// True if a successful lease ends the failure of `failingPart`; false if only a try can end it.
    var isWellOnceLeased: Bool { get }

    /// Returns the loop's next step.
    func nextTurn() async -> DueTurn<Item>

    /// Leases up to `limit` due rows, oldest first, for longer than `trySeconds`. Throws if the database is out of
    /// reach.
    func leaseDue(limit: Int) async throws -> DueBatch<Item>

    /// Tries one row, and returns once the result is durable. Throws `Abandoned` if its task is cancelled, because the
    /// process stops or the try takes too long. Throws if the database is out of reach.
    ///
    /// After a try without a verdict, `work` itself puts the row off. `ParkingPolicy` gives the delay of a parked
    /// submission, `RetryDelay` that of a hold, a finish and a refund request. Subscriptions and notification histories
    /// have pauses of their own.
    func work(on item: Item) async throws

    /// Puts a row off whose try was given up while the process goes on. Throws if the database is out of reach.
    func putOff(_ item: Item) async throws

    /// Makes a row due at once, as if it had never been leased, because the stopping process cut its try. Throws if the
    /// database is out of reach.
    func release(_ item: Item) async throws

    /// Writes whether a death of the process counts against an isolated row. A death counts while the row is at work,
    /// and does not count while the row waits. Does nothing if the lease is over. Throws if the database is out of
    /// reach.
    func accuse(_ item: Item, isAtWork: Bool) async throws
}

extension DueWork {
    var isWanted: Bool { true }
    var lookSeconds: Double { DueWorkLimits.lookSeconds }
    var trySeconds: Double? { DueWorkLimits.trySeconds }
    var isWellOnceLeased: Bool { true }

    func nextTurn() async -> DueTurn<Item> { isWanted ? .due : .nothing }

    /// Does nothing, because the lease ends by itself.
    func putOff(_ item: Item) async throws {}

    /// Does nothing, because the lease already counts against the row.
    func accuse(_ item: Item, isAtWork: Bool) async throws {}
}

/// The places for rows that this replica tries at the same time.
enum DuePlaces: Sendable {
    case own(Int)
    /// Slots that are shared with other work. The loop leases at most `batch` rows at a time.
    case shared(WorkSlots, batch: Int)

    var slots: WorkSlots? {
        if case .shared(let slots, _) = self { slots } else { nil }
    }

    /// Returns the number of further rows that may be leased.
    func room(beside underWay: Int) -> Int {
        switch self {
        case .own(let places): places - underWay
        case .shared(let slots, let batch): min(slots.roomForLeases, batch)
        }
    }
}

enum DueTurn<Item: Sendable>: Sendable {
    case nothing
    /// The loop leases due rows.
    case due
    /// The leased row may have killed its workers. Isolation has begun: the loop tries the row with nothing else leased
    /// beside it.
    case isolated(Item)
}

/// Rows that were leased together.
struct DueBatch<Item: Sendable>: Sendable {
    /// The groups of items. The items of one group are tried one after the other; the groups run at the same time.
    var groups: [[Item]] = []
    /// True if there may be more due rows.
    var isFull = false

    var count: Int { groups.reduce(0) { $0 + $1.count } }

    init() {}

    /// Makes a group of each item.
    init(_ items: [Item], limit: Int) {
        groups = items.map { [$0] }
        isFull = items.count == limit
    }
}

extension RetryDelay {
    /// Returns the seconds until the next try, after a try that was given up.
    func seconds(afterGivingUp tries: Int, now: Timestamp) -> Double {
        afterTry(tries, nil, jitter: Double.random(in: 0..<1), now: now)
    }

    /// Returns the seconds until Apple is asked again. Returns nil if no try helps before an operator acts. The lease
    /// then stays as it is, and each lease is longer than the last.
    func seconds<Value>(after answer: StoreQueryAnswer<Value>, tries: Int, now: Timestamp) -> Double? {
        var trouble: AppleAnswer.Trouble?
        switch answer {
        case .blocked where tries > ParkingPolicy.triesWhileBlocked: return nil
        case .trouble(let told): trouble = told
        case .answered, .notFound, .refused, .blocked: break
        }
        return afterTry(tries, trouble, jitter: Double.random(in: 0..<1), now: now)
    }
}

enum DueWorkLimits {
    /// The seconds between two looks at the table. Nobody waits for these rows.
    static let lookSeconds = 2.0
    /// The seconds between two looks for a place while all are taken.
    static let busySeconds = 0.05
    /// The seconds that one try may take, including its wait for a turn at Apple.
    static let trySeconds = 50.0
    /// The seconds of the shortest lease.
    static let leaseSeconds = 60.0
}
