import NamesAndTimes

/// The database's refund requests that Apple wants answers to.
public protocol OpenRefundRequests: Sendable {
    /// Leases up to `limit` due requests, oldest first. Each comes due again by itself, later each time.
    ///
    /// A request whose transaction is not in the ledger is not leased before Apple's deadline. Workers look for the
    /// transaction each minute. Once it is there, the request's event is in the outbox.
    /// - Parameters:
    ///   - waitSeconds: the seconds that a request waits for the game's report.
    ///   - now: the time of such events.
    func leaseDueRequests(limit: Int, waitSeconds: Double, at now: Timestamp) async throws -> [LeasedRefundRequest]

    /// Ends a request. Nothing happens if the lease is gone. Throws if the database is out of reach.
    /// - Parameter answer: the last answer to Apple; nil if Apple got none.
    func end(
        _ request: LeasedRefundRequest, as result: ConsumptionResult, answer: ConsumptionAnswer?) async throws

    /// Makes the request due again after `seconds`, because the try ended without a verdict. Nothing happens if the
    /// lease is gone. Throws if the database is out of reach.
    /// - Parameter countsAsTry: false if there was nothing to try yet.
    func putOff(_ request: LeasedRefundRequest, seconds: Double, countsAsTry: Bool) async throws

    /// Releases the row as if it had never been leased. Throws if the database is out of reach.
    func release(_ request: LeasedRefundRequest) async throws

    /// Stores the game's reports in their order, and makes the requests due that wait for them. Throws if the database
    /// is out of reach; then all may be given again.
    func enter(_ reports: [ConsumptionReport]) async throws -> Durable<[EnteredRecord]>
}

/// The result of entering a record from the game.
public enum EnteredRecord: Sendable, Equatable {
    case entered
    /// The database refuses the record's data, and always will.
    case refused
}

/// A refund request under a lease, with what is known of its transaction.
public struct LeasedRefundRequest: Sendable, Equatable {
    public enum Delivery: Sendable, Equatable {
        /// - Parameter isAcknowledged: true if the broker has acknowledged the grant's event.
        case granted(isAcknowledged: Bool)
        /// Apple or an operator revoked it, or Apple refunded it before it was granted.
        case revoked
        /// The purchase is held, parked or refused.
        case undelivered
        case unknown
    }

    public let request: RefundRequest
    public let delivery: Delivery
    /// The game's report; nil if there is none.
    public let report: ConsumptionReport.Content?
    /// The number of tries so far, including this one.
    public let tries: Int
    /// Identifies the lease: the row's next due time, in microseconds since 1970.
    public let lease: Int64

    /// The seconds before Apple's deadline that are kept for tries. No wait for the game lasts into them.
    public static let reservedSeconds = 7200.0
    /// The days for which requests are kept.
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
