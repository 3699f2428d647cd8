import NamesAndTimes

/// The store of the refund requests that Apple wants receiptd to answer.
public protocol OpenRefundRequests: Sendable {
    /// Leases up to `limit` due requests, oldest first. A leased request becomes due again by itself, later each time.
    ///
    /// Until Apple's deadline, a request is leased only if its transaction is in the ledger. Workers look for the
    /// transaction each minute. Once they find it, they put the request's event into the outbox.
    /// - Parameters:
    ///   - waitSeconds: the seconds that a request waits for the game's report.
    ///   - now: the time of the requests' events.
    func leaseDueRequests(limit: Int, waitSeconds: Double, at now: Timestamp) async throws -> [LeasedRefundRequest]

    /// Ends a request. Nothing happens if the lease is over. Throws if the database is out of reach.
    /// - Parameter answer: the last answer to Apple; nil if Apple got none.
    func end(
        _ request: LeasedRefundRequest, as result: ConsumptionResult, answer: ConsumptionAnswer?) async throws

    /// Makes the request due again after `seconds`, because it was not answered. Nothing happens if the lease is over.
    /// Throws if the database is out of reach.
    /// - Parameter countsAsTry: false if the worker did not try to answer yet.
    func putOff(_ request: LeasedRefundRequest, seconds: Double, countsAsTry: Bool) async throws

    /// Releases the request as if no worker had leased it. Throws if the database is out of reach.
    func release(_ request: LeasedRefundRequest) async throws

    /// Stores the game's reports in their order, and makes due the requests that wait for them. Throws if the database
    /// is out of reach; the caller may then enter the same reports again.
    func enter(_ reports: [ConsumptionReport]) async throws -> Durable<[EnteredRecord]>
}

/// The result of entering a record from the game.
public enum EnteredRecord: Sendable, Equatable {
    case entered
    /// The database refuses the record's data, and always will.
    case refused
}

/// A refund request under a lease, with the delivery of its transaction and the game's report.
public struct LeasedRefundRequest: Sendable, Equatable {
    public enum Delivery: Sendable, Equatable {
        /// - Parameter isAcknowledged: true if the broker has acknowledged the grant's event.
        case granted(isAcknowledged: Bool)
        /// Apple or an operator revoked the grant, or Apple refunded the purchase before a grant.
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
    /// The row's next due time in microseconds since 1970, which identifies the lease.
    public let lease: Int64

    /// The last seconds before Apple's deadline, which are for tries. Waits for the game's report end before them.
    public static let reservedSeconds = 7200.0
    /// The days for which receiptd keeps requests.
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
