import Fulfillment
import NamesAndTimes
import Operations

/// A table of rows that come due, each a small piece of work: one question to Apple, say.
///
/// `leaseDue` writes the lease before the try. So the process may die in the middle of a try, even because of the row:
/// the row is due again when the lease is over, and the worker goes on with other rows. After a lease that did not end
/// in order the next one is twice as long, but for parked submissions. `IsolatingWork` also finds a row that kills its
/// worker.
protocol DueWork: Sendable {
    associatedtype Item: Sendable

    /// The part whose loop health watches, and which reports failures.
    var part: Health.Part { get }
    var failingPart: FailingPart { get }
    var places: DuePlaces { get }
    /// False if there can be nothing to do. The loop then does not look at the table.
    var isWanted: Bool { get }
    /// The seconds between two looks at the table. Each pause is drawn from half of it to one and a half.
    var lookSeconds: Double { get }
    /// The seconds that one try may take, including its wait for a turn among the requests to Apple; nil if a try ends by
    /// itself.
    var trySeconds: Double? { get }
    /// True if a lease proves that the failing part is well again; false if only a try can.
    var isWellOnceLeased: Bool { get }

    /// Returns what the loop does next.
    func nextTurn() async -> DueTurn<Item>

    /// Leases up to `limit` due rows, oldest first, for longer than `trySeconds`. Throws if the database is out of
    /// reach.
    func leaseDue(limit: Int) async throws -> DueBatch<Item>

    /// Tries one row, and returns once the result is durable. Throws `Abandoned` if its task is cancelled, because the
    /// process stops or the try takes too long. Throws if the database is out of reach.
    func work(on item: Item) async throws

    /// Makes a row due later whose try was given up while the process goes on. Throws if the database is out of reach.
    func putOff(_ item: Item) async throws

    /// Makes a row due at once whose try the stopping process cut, as if it had never been leased. Throws if the
    /// database is out of reach.
    func release(_ item: Item) async throws

    /// Writes whether a death of the process counts against a row in isolation: it does while the row is at work, and
    /// not while the row waits. Does nothing if the lease is over. Throws if the database is out of reach.
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

    /// Does nothing, because the lease itself counts against the row.
    func accuse(_ item: Item, isAtWork: Bool) async throws {}
}

/// The number of rows that this replica may try at the same time.
enum DuePlaces: Sendable {
    case own(Int)
    /// Slots that other work has too. No more than a batch is leased at a time.
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
    /// The leased row may have killed its workers. It is to be tried with nothing else leased beside it; isolation has
    /// begun.
    case isolated(Item)
}

/// Rows that were leased together.
struct DueBatch<Item: Sendable>: Sendable {
    /// The items of one list are tried one after the other, the lists beside one another.
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
    /// Returns the seconds until the next try, after one that was given up.
    func seconds(afterGivingUp tries: Int, now: Timestamp) -> Double {
        afterTry(tries, nil, jitter: Double.random(in: 0..<1), now: now)
    }

    /// Returns the seconds until Apple is to be asked again. Returns nil if the lease stays as it is, because no try
    /// helps before the operator does; each lease is longer than the last.
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
    /// The seconds between two looks at the table. Nobody waits for what is due here.
    static let lookSeconds = 2.0
    /// The seconds between two looks for a place while all are taken.
    static let busySeconds = 0.05
    /// The seconds that one try may take, including its wait for a turn among the requests to Apple.
    static let trySeconds = 50.0
    /// The seconds of the shortest lease.
    static let leaseSeconds = 60.0
}
