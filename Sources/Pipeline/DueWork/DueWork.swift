import Fulfillment
import NamesAndTimes
import Operations

/// A table of rows that come due, one small piece of work each: one question to Apple, say.
///
/// A lease is the row's next due time, which `leaseDue` writes ahead of the try, farther away each time. So a try that
/// never ends needs nothing: whether the process was killed, or the row itself kills its worker, the row comes again, later
/// and later, and the others go on. One that ends without a verdict says when the row is due. Work that somebody waits for
/// finds out which row kills its worker instead: `LeaseSource`.
protocol DueWork: Sendable {
    associatedtype Item: Sendable

    /// What is watched, and what is reported to fail.
    var part: Health.Part { get }
    var failingPart: FailingPart { get }
    var places: DuePlaces { get }
    /// False where there can be nothing to do: the table is not looked at.
    var isWanted: Bool { get }
    /// Seconds between two looks at the table; each pause is drawn from half of it to one and a half.
    var lookSeconds: Double { get }
    /// Seconds that one try may take, with its wait in front of Apple. Nil where a try ends by itself.
    var trySeconds: Double? { get }
    /// False where a try alone can tell that the failing part is well again.
    var isWellOnceLeased: Bool { get }

    /// What the loop is to do next.
    func nextTurn() async -> DueTurn<Item>

    /// Leases up to `limit` that are due, oldest first, for longer than `trySeconds`. Throws where the database is out of
    /// reach.
    func leaseDue(limit: Int) async throws -> DueBatch<Item>

    /// One try: what comes of it is durable. Its task is cancelled when the process stops or the try takes too long; it
    /// throws `Abandoned` then. Throws where the database is out of reach.
    func work(on item: Item) async throws

    /// A try was given up, and the process goes on: it is due again later. Throws where the database is out of reach.
    func putOff(_ item: Item) async throws

    /// The process stops before its try ended: it is due again, as if it had never been leased. Throws where the database
    /// is out of reach.
    func release(_ item: Item) async throws

    /// Says of one that is tried in isolation whether a death of the process counts against it from now on, for it is at
    /// work, or does not, for it only waits. Nothing happens where its lease is over. Throws where the database is out of
    /// reach.
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

    /// Its lease alone counts.
    func accuse(_ item: Item, isAtWork: Bool) async throws {}
}

/// How many rows this replica may try at the same time.
enum DuePlaces: Sendable {
    case own(Int)
    /// Slots that other work has too. A batch is what is leased at a time at most.
    case shared(WorkSlots, batch: Int)

    var slots: WorkSlots? {
        if case .shared(let slots, _) = self { slots } else { nil }
    }

    /// How many more rows may be leased.
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
    /// It may be what killed its workers: it is leased, and to be tried with nothing else leased beside it. Isolation has
    /// begun.
    case isolated(Item)
}

/// Rows that were leased together.
struct DueBatch<Item: Sendable>: Sendable {
    /// Those of one list are tried one after the other, the lists beside one another.
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
    /// Between two looks at the table.
    static let lookSeconds = 1.0
    /// Between two looks for a place while all are taken.
    static let busySeconds = 0.05
    /// One try, with its wait in front of Apple.
    static let trySeconds = 50.0
    /// The shortest lease. Seconds.
    static let leaseSeconds = 60.0
}
