import NamesAndTimes

/// The store of the refund requests about which Apple asks receiptd. Every function throws if the database is out of
/// reach. A call about a request whose lease is over changes nothing.
public protocol OpenRefundRequests: Sendable {
    /// Leases up to `limit` due requests, oldest first. If no call ends or puts off a leased request, it becomes due
    /// again by itself, each time after a longer lease.
    ///
    /// Before Apple's deadline, leases a request only if its transaction is in the ledger. Workers look for the
    /// transaction each minute. Once a worker finds the transaction, the worker puts the request's event into the
    /// outbox.
    /// - Parameters:
    ///   - waitSeconds: the seconds that a request waits for the game's report.
    ///   - now: the time of the requests' events.
    func leaseDueRequests(limit: Int, waitSeconds: Double, at now: Timestamp) async throws -> [LeasedRefundRequest]

    /// - Parameter answer: the last answer that Apple got; nil if Apple got none.
    func end(
        _ request: LeasedRefundRequest, as result: ConsumptionResult, answer: ConsumptionAnswer?) async throws

    /// Makes the request due again after `seconds`, because Apple got no answer.
    /// - Parameter countsAsTry: false if the worker has not tried to send an answer.
    func putOff(_ request: LeasedRefundRequest, seconds: Double, countsAsTry: Bool) async throws

    /// Releases the request as if no worker had leased it.
    func release(_ request: LeasedRefundRequest) async throws

    /// Stores the game's reports in their order, and makes due the requests that wait for a report. If the call throws,
    /// the caller may enter the reports again.
    func enter(_ reports: [ConsumptionReport]) async throws -> Durable<[EnteredRecord]>
}

/// The result of storing a record from the game.
public enum EnteredRecord: Sendable, Equatable {
    case entered
    /// The database refuses the record's data, and would refuse it again.
    case refused
}

/// A refund request under a lease, with the delivery of its transaction and the game's report.
public struct LeasedRefundRequest: Sendable, Equatable {
    public enum Delivery: Sendable, Equatable {
        /// - Parameter isAcknowledged: true if the broker has acknowledged the grant's event.
        case granted(isAcknowledged: Bool)
        /// Apple or an operator revoked the grant, or Apple refunded the purchase before a grant.
        case revoked
        /// The purchase is held, parked or rejected.
        case undelivered
        case unknown
    }

    public let request: RefundRequest
    public let delivery: Delivery
    /// The game's report; nil if there is none.
    public let report: ConsumptionReport.Content?
    /// The number of tries so far, including the present try.
    public let tries: Int
    /// The row's next due time, in microseconds since 1970. The value identifies the lease.
    public let lease: Int64

    /// The last seconds before Apple's deadline, which are reserved for tries to answer. A wait for the game's report
    /// ends before these seconds begin.
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
