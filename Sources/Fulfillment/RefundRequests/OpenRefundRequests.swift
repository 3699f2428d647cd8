import NamesAndTimes

/// The seam to the database for refund requests that Apple waits to be answered about.
public protocol OpenRefundRequests: Sendable {
    /// Leases up to `limit` that are due, oldest first; each is due again by itself, later each time. One whose transaction
    /// is not in the ledger is not leased before Apple takes no answer any more: it is looked at again each minute, and once
    /// its transaction is there, its event is in the outbox. Throws where the database is out of reach.
    /// - Parameters:
    ///   - waitSeconds: how long one of which the game has said nothing waits for that.
    ///   - now: of such events.
    func leaseDueRequests(limit: Int, waitSeconds: Double, at now: Timestamp) async throws -> [LeasedRefundRequest]

    /// Ends a request. Nothing happens where the lease is gone. Throws where the database is out of reach.
    /// - Parameter answer: what Apple was told last, if anything.
    func end(
        _ request: LeasedRefundRequest, as result: ConsumptionResult, answer: ConsumptionAnswer?) async throws

    /// The try ended without a verdict: it is due again after so many seconds. Nothing happens where the lease is gone. Throws
    /// where the database is out of reach.
    /// - Parameter countsAsTry: false where there was nothing to try yet.
    func putOff(_ request: LeasedRefundRequest, seconds: Double, countsAsTry: Bool) async throws

    /// Releases the row as if it had never been leased. Throws where the database is out of reach.
    func release(_ request: LeasedRefundRequest) async throws

    /// Makes durable what the game said, in its order, and lets requests that wait for it be due. Throws where the
    /// database is out of reach; all may be given again then.
    func enter(_ reports: [ConsumptionReport]) async throws -> Durable<[EnteredRecord]>
}

/// The result of entering a record of the game's.
public enum EnteredRecord: Sendable, Equatable {
    case entered
    /// The database refuses its data, and always will.
    case refused
}

/// A refund request under a lease, with what is known of its transaction.
public struct LeasedRefundRequest: Sendable, Equatable {
    public enum Delivery: Sendable, Equatable {
        /// - Parameter isAcknowledged: the broker has its event.
        case granted(isAcknowledged: Bool)
        /// Apple or an operator took it back since, or Apple did before it was granted.
        case revoked
        /// Held, waiting or refused.
        case undelivered
        case unknown
    }

    public let request: RefundRequest
    public let delivery: Delivery
    /// Nil where the game has said nothing.
    public let report: ConsumptionReport.Content?
    /// The number of tries so far, with this one.
    public let tries: Int
    /// Names the lease: when it is due again, in microseconds since 1970.
    public let lease: Int64

    /// Before the end of Apple's twelve hours, for tries: no wait for the game is longer. Seconds.
    public static let reservedSeconds = 7200.0
    /// Requests are kept for so long.
    public static let keptDays: Int32 = 200

    public init(
        request: RefundRequest, delivery: Delivery, report: ConsumptionReport.Content?, tries: Int = 1, lease: Int64
    ) {
        self.request = request
        self.delivery = delivery
        self.report = report
        self.tries = tries
        self.lease = lease
    }
}
