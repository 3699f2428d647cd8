/// Counts of requests and answers since the start or the last reset.
public struct SimulationCounters: Sendable, Hashable, Codable {
    /// The requests to verifyReceipt and the App Store Server API. Requests to the control API and to unknown paths do
    /// not count.
    public var requests = 0
    public var productionRequests = 0
    public var sandboxRequests = 0
    /// The requests by endpoint; the key is the raw value of `SimulatedEndpoint`.
    public var endpoints: [String: Int] = [:]
    /// The answers by kind: `status_0`, `status_21007`, `http_503`, `html`, `hang`, `reset` and so on. The simulation
    /// counts an answer first, and then waits for the simulated latency.
    public var answers: [String: Int] = [:]
    /// The requests that were read and not yet answered. A hung request counts until the client closes the connection.
    public var concurrentRequests = 0
    public var maximumConcurrentRequests = 0
    public var openConnections = 0
    /// The connections accepted since the start or the last reset.
    public var connections = 0
    /// The number of different receipts, at most one million; 0 unless `trackReceipts` in the options is true.
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
    /// The time of the answer, in milliseconds since 1970.
    public var timestampMilliseconds: Int64
    public var endpoint: SimulatedEnvironment
    public var api: SimulatedEndpoint
    /// The transactions in the request's receipt. Empty during an outage, and for a receipt that was not recognised.
    /// For a request to the App Store Server API, the list has the id in the request, also during an outage.
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
