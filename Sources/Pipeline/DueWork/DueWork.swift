import Operations

/// A table of rows that come due, one small piece of work each: one question to Apple, say.
///
/// A lease is the row's next due time, which `leaseDue` writes ahead of the try, farther away each time. So a try that
/// ends without a result needs nothing: whether Apple is in trouble, the process was killed, or the row itself kills its
/// worker, the row comes again, later and later, and the others go on.
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

    /// The process stops before its try ended: it is due again, as if it had never been leased. Throws where the database
    /// is out of reach.
    func release(_ item: Item) async throws
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
