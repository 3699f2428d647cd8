import Fulfillment
import NamesAndTimes
import Operations

/// A table whose rows become due. Each row is a small piece of work, for example one request to Apple.
///
/// `leaseDue` writes the lease before the try. If the process dies during the try, perhaps because of the row, the row
/// is due again when the lease ends. Meanwhile workers continue with other rows. If a lease ended without a result, the
/// row's next lease is longer, up to a limit. Only the leases of parked submissions and of notification histories keep
/// their length.
///
/// `Pipeline.leasingLoops` in Pipeline+Leasing.swift lists the loops of all such tables. Announced purchases (which
/// Apple itself reported) are no `DueWork`: their own loop, `AnnouncedLoop`, delivers a batch in one SQL transaction.
///
/// `ParkedSource`, for submissions that wait in PostgreSQL, is an example. The SQL transaction that stores a verdict
/// also deletes the row. If the worker rejects the submission without Apple, or finds a stored verdict,
/// `ParkedSource.work` deletes the leased row. Without a verdict, `SubmissionWorker.putBack` sets the next due time and
/// ends the lease. If a row was leased only because it has the proof of a due row, `putBack` only ends the lease.
/// `ParkedSubmissions` declares `delete`, `reschedule` and `endLease`.
///
/// Parked submissions and holds are `IsolatingWork`, for which `SuspectTurns` finds the row that kills its worker.
/// Every function that may throw does so if PostgreSQL cannot be reached.
protocol DueWork: Sendable {
    associatedtype Item: Sendable

    /// The name under which health watches that the loop makes progress. Failures of the loop are reported under the
    /// name `failingPart`.
    var part: Health.Part { get }
    var failingPart: FailingPart { get }
    var places: DuePlaces { get }
    /// False if this table needs no work. The loop then does not query it.
    var isWanted: Bool { get }
    /// The mean seconds between two queries of the table, as `LeasingLoop.turn` returns them.
    var lookSeconds: Double { get }
    /// The seconds that one try may take, including its wait for a turn at Apple; nil if `work` itself limits a try.
    var trySeconds: Double? { get }
    /// True if a successful lease ends the failure of `failingPart`; false if only a try can end this failure.
    var isWellOnceLeased: Bool { get }

    /// Returns the loop's next step.
    func nextTurn() async -> DueTurn<Item>

    /// Leases up to `limit` due rows, oldest first, for longer than `trySeconds`. `ParkedSource` may also lease up to
    /// `limit` other rows with the same proofs.
    func leaseDue(limit: Int) async throws -> DueBatch<Item>

    /// Tries one row, and returns once the result is durable. Throws `Abandoned` if the task is cancelled, because the
    /// process stops or the try takes too long.
    ///
    /// After a try without a verdict, `work` itself sets the row's next due time. `ParkingPolicy` gives the delay for a
    /// parked submission; `RetryDelay` gives it for a hold, a finish and a refund request. Subscriptions and
    /// notification histories have delays of their own.
    func work(on item: Item) async throws

    /// Sets a later due time for a row whose try was abandoned although the process continues.
    func putOff(_ item: Item) async throws

    /// Makes a row due at once, as if it had not been leased, because the stopping process interrupted its try.
    func release(_ item: Item) async throws

    /// Stores whether a death of the process counts against an isolated row. A death counts while the row is at work,
    /// not while the row waits. Does nothing if the lease is over.
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

    /// Does nothing, because only `IsolatingWork` isolates rows.
    func accuse(_ item: Item, isAtWork: Bool) async throws {}
}

/// The places for rows that this replica tries concurrently.
enum DuePlaces: Sendable {
    case own(Int)
    /// Slots that other work uses too. The loop leases at most `batch` rows at a time.
    case shared(WorkSlots, batch: Int)

    var slots: WorkSlots? {
        if case .shared(let slots, _) = self { slots } else { nil }
    }

    /// Returns how many more rows may be leased.
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
    /// The leased row may have killed its workers. The loop tries it while this process has leased no other parked or
    /// held row.
    case isolated(Item)
}

/// The rows of one call of `leaseDue`.
struct DueBatch<Item: Sendable>: Sendable {
    /// The groups of items. A group's items are tried one after the other; the groups run concurrently.
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
    /// Returns the seconds until the next try, after an abandoned try.
    func seconds(afterGivingUp tries: Int, now: Timestamp) -> Double {
        afterTry(tries, nil, jitter: Double.random(in: 0..<1), now: now)
    }

    /// Returns the seconds until the next request to Apple. Returns nil if only an operator can help. Then the row
    /// stays leased until the lease ends, and each lease is longer than the last.
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
    /// The mean seconds between two queries of the table.
    static let lookSeconds = 2.0
    /// The seconds between two checks for a free place while all places are taken.
    static let busySeconds = 0.05
    /// The seconds that one try may take, including its wait for a turn at Apple.
    static let trySeconds = 50.0
    /// The seconds of the shortest lease.
    static let leaseSeconds = 60.0
}
