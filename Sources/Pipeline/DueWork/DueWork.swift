import Fulfillment
import Operations
import Timestamps

/// A table of rows that come due, one small piece of work each: one question to Apple, say.
///
/// A lease is the row's next due time, which `leaseDue` writes ahead of the try, farther away each time. So a try that
/// never ends needs nothing: whether the process was killed, or the row itself kills its worker, the row comes again, later
/// and later, and the others go on. One that ends without a verdict says when the row is due.
protocol DueWork: Sendable {
    associatedtype Item: Sendable

    /// What is watched, and what is reported to fail.
    var part: Health.Part { get }
    var failingPart: FailingPart { get }
    /// Tried at the same time at most, by this replica.
    var concurrency: Int { get }
    /// False where there can be nothing to do: the table is not looked at.
    var isWanted: Bool { get }

    /// Leases up to `limit` that are due, oldest first, for longer than `DueWorkLimits.trySeconds`. Throws where the
    /// database is out of reach.
    func leaseDue(limit: Int) async throws -> [Item]

    /// One try: what comes of it is durable. Its task is cancelled when the process stops or the try takes too long; it
    /// throws `Abandoned` then. Throws where the database is out of reach.
    func work(on item: Item) async throws

    /// A try was given up, and the process goes on: it is due again later. Throws where the database is out of reach.
    func putOff(_ item: Item) async throws

    /// The process stops before its try ended: it is due again, as if it had never been leased. Throws where the database
    /// is out of reach.
    func release(_ item: Item) async throws
}

extension DueWork {
    /// The lease ends by itself.
    func putOff(_ item: Item) async throws {}
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
    /// Between two looks at the table; each is drawn from half of it to one and a half.
    static let lookSeconds = 1.0
    /// The same while there may be more that is due.
    static let busySeconds = 0.05
    /// One try, with its wait in front of Apple.
    static let trySeconds = 50.0
    /// The shortest lease. Seconds.
    static let leaseSeconds = 60.0
}
