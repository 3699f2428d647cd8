/// Counts of requests and answers since the start or the last reset.
public struct SimulationCounters: Sendable, Hashable, Codable {
    /// The requests to Apple, without those over the control API and to unknown paths.
    public var requests = 0
    public var productionRequests = 0
    public var sandboxRequests = 0
    /// The counts by `SimulatedEndpoint`.
    public var endpoints: [String: Int] = [:]
    /// The counts by answer: `status_0`, `status_21007`, `http_503`, `html`, `hang`, `reset`, … An answer counts when
    /// decided, which is before its latency.
    public var answers: [String: Int] = [:]
    /// The requests that were read and not yet answered. Hung ones count until the client gives up.
    public var concurrentRequests = 0
    public var maximumConcurrentRequests = 0
    public var openConnections = 0
    /// The connections ever accepted.
    public var connections = 0
    /// Distinct `receipt-data` strings, 0 unless `trackReceipts`; stops at the limit of one million.
    public var receipts = 0

    enum CodingKeys: String, CodingKey {
        case requests
        case productionRequests = "production_requests"
        case sandboxRequests = "sandbox_requests"
        case endpoints
        case answers
        case concurrentRequests = "concurrent_requests"
        case maximumConcurrentRequests = "maximum_concurrent_requests"
        case openConnections = "open_connections"
        case connections
        case receipts
    }
}

/// One line of the request log.
public struct SimulatedRequestRecord: Sendable, Hashable, Codable {
    /// The time at which the request had been read, in milliseconds since 1970.
    public var timestampMilliseconds: Int64
    public var endpoint: SimulatedEnvironment
    public var api: SimulatedEndpoint
    /// The transactions of the receipt in the request; empty if it was not read (an outage) or not recognised.
    public var transactionIDs: [String]
    /// The hash of the receipt in 16 hexadecimal digits, stable between runs.
    public var receiptHash: String
    /// A key of `SimulationCounters.answers`.
    public var answer: String

    enum CodingKeys: String, CodingKey {
        case timestampMilliseconds = "timestamp_ms"
        case endpoint
        case api
        case transactionIDs = "transaction_ids"
        case receiptHash = "receipt_hash"
        case answer
    }
}
