import Fulfillment
import NamesAndTimes
import Operations

/// A table of rows that come due, one small piece of work each: one question to Apple, say.
///
/// `leaseDue` writes the lease ahead of the try, and each lease is longer than the one before. So the process may die in the
/// middle of a try, even by the row itself: the row is due again later, and the others go on. A source of parked submissions or held
/// purchases also finds the row that kills its worker.
protocol DueWork: Sendable {
    associatedtype Item: Sendable

    /// The loop that health watches, and the part that is reported to fail.
    var part: Health.Part { get }
    var failingPart: FailingPart { get }
    var places: DuePlaces { get }
    /// False where there can be nothing to do: then the loop does not look at the table.
    var isWanted: Bool { get }
    /// Seconds between two looks at the table; each pause is drawn from half of it to one and a half.
    var lookSeconds: Double { get }
    /// Seconds that one try may take, with its wait in front of Apple. Nil where a try ends by itself.
    var trySeconds: Double? { get }
    /// True where a lease proves that the failing part is well again. False where only a try can.
    var isWellOnceLeased: Bool { get }

    /// Says what the loop does next.
    func nextTurn() async -> DueTurn<Item>

    /// Leases up to `limit` that are due, oldest first, for longer than `trySeconds`. Throws where the database is out of
    /// reach.
    func leaseDue(limit: Int) async throws -> DueBatch<Item>

    /// Tries one row, and returns once the result is durable. Throws `Abandoned` where its task is cancelled, because the process
    /// stops or the try takes too long. Throws where the database is out of reach.
    func work(on item: Item) async throws

    /// Makes a row due later whose try was given up while the process goes on. Throws where the database is out of reach.
    func putOff(_ item: Item) async throws

    /// Makes a row due at once whose try the stopping process cut, as if it had never been leased. Throws where the database is
    /// out of reach.
    func release(_ item: Item) async throws

    /// Writes whether a death of the process counts against a row in isolation: it does while the row is at work, and not while
    /// it waits. Does nothing where the lease is over. Throws where the database is out of reach.
    func accuse(_ item: Item, isAtWork: Bool) async throws
}

extension DueWork {
    var isWanted: Bool { true }
    var lookSeconds: Double { DueWorkLimits.lookSeconds }
    var trySeconds: Double? { DueWorkLimits.trySeconds }
    var isWellOnceLeased: Bool { true }

    func nextTurn() async -> DueTurn<Item> { isWanted ? .due : .nothing }

    /// The lease ends by itself.
    func putOff(_ item: Item) async throws {}

    /// The lease itself counts against the row.
    func accuse(_ item: Item, isAtWork: Bool) async throws {}
}

/// The number of rows that this replica may try at the same time.
enum DuePlaces: Sendable {
    case own(Int)
    /// Slots that other work has too. A batch is what is leased at a time at most.
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
    /// Lease what is due.
    case due
    /// The row may be what killed its workers: it is leased, and to be tried with nothing else leased beside it.
    /// Isolation has begun.
    case isolated(Item)
}

/// Rows that were leased together.
struct DueBatch<Item: Sendable>: Sendable {
    /// The items of one list are tried one after the other, the lists beside one another.
    var groups: [[Item]] = []
    /// There may be more that is due.
    var isFull = false

    var count: Int { groups.reduce(0) { $0 + $1.count } }

    init() {}

    /// Each by itself.
    init(_ items: [Item], limit: Int) {
        groups = items.map { [$0] }
        isFull = items.count == limit
    }
}

extension RetryDelay {
    /// Seconds until the next try, after one that was given up.
    func seconds(afterGivingUp tries: Int, now: Timestamp) -> Double {
        afterTry(tries, nil, jitter: Double.random(in: 0..<1), now: now)
    }

    /// Seconds until Apple is to be asked again. Nil where the lease is left as it is, which is longer each time: no try helps
    /// before the operator does.
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
    /// One try, with its wait in front of Apple.
    static let trySeconds = 50.0
    /// The shortest lease. Seconds.
    static let leaseSeconds = 60.0
}
