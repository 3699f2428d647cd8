/// Counts requests and answers, and logs the last requests.
struct RequestTally: Sendable {
    private let tracksReceipts: Bool
    private var requestsByReceipt: [UInt64: Int] = [:]
    private var answers: [AnswerKind: Int] = [:]
    private var counters = SimulationCounters()
    private(set) var log: RequestLog

    init(tracksReceipts: Bool, logCapacity: Int) {
        self.tracksReceipts = tracksReceipts
        log = RequestLog(capacity: logCapacity)
    }

    /// True if the tally needs the hash of each request's receipt.
    var needsHash: Bool { tracksReceipts || log.capacity > 0 }

    mutating func began(_ endpoint: SimulatedEnvironment, _ api: SimulatedEndpoint) {
        counters.requests += 1
        counters.endpoints[api.rawValue, default: 0] += 1
        if endpoint == .production { counters.productionRequests += 1 } else { counters.sandboxRequests += 1 }
        counters.concurrentRequests += 1
        counters.maximumConcurrentRequests = max(counters.maximumConcurrentRequests, counters.concurrentRequests)
    }

    mutating func decided(_ kind: AnswerKind, receipt: UInt64, record: @autoclosure () -> SimulatedRequestRecord) {
        answers[kind, default: 0] += 1
        if tracksReceipts,
            requestsByReceipt.count < SimulationState.maximumReceipts || requestsByReceipt[receipt] != nil
        {
            requestsByReceipt[receipt, default: 0] += 1
        }
        if log.capacity > 0 { log.append(record()) }
    }

    mutating func finished() { counters.concurrentRequests = max(0, counters.concurrentRequests - 1) }

    mutating func connectionOpened() {
        counters.connections += 1
        counters.openConnections += 1
    }

    mutating func connectionClosed() { counters.openConnections -= 1 }

    func requests(receipt: UInt64) -> Int { requestsByReceipt[receipt] ?? 0 }

    var snapshot: SimulationCounters {
        var counters = counters
        counters.answers = Dictionary(uniqueKeysWithValues: answers.map { ($0.key.label, $0.value) })
        counters.receipts = requestsByReceipt.count
        return counters
    }

    /// Resets the counts, except those of requests in flight and of open connections.
    mutating func reset() {
        var fresh = SimulationCounters()
        fresh.concurrentRequests = counters.concurrentRequests
        fresh.maximumConcurrentRequests = counters.concurrentRequests
        fresh.openConnections = counters.openConnections
        counters = fresh
        answers = [:]
        requestsByReceipt = [:]
        log = RequestLog(capacity: log.capacity)
    }
}
