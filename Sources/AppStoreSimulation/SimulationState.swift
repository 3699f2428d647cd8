/// The state that changes while the simulation runs. `VerifyReceiptService` guards it with a lock.
struct SimulationState: Sendable {
    /// The most receipts with a count of their own. The simulation does not count requests for further receipts, so
    /// each such request gets the first step of the behaviour.
    static let maximumReceipts = 1_000_000
    /// The most decoded behaviours in the cache.
    static let maximumDecodedBehaviours = 4096

    struct ErrorRate: Sendable {
        var probability: Double
        var step: SimulatedStep
    }

    private struct AttemptKey: Hashable, Sendable {
        var receipt: UInt64
        var endpoint: SimulatedEnvironment?
    }

    var latency: SimulatedLatency
    var random: SplitMix64
    var outages = PerEndpoint<SimulatedOutage?>(nil)
    var errorRates = PerEndpoint<ErrorRate?>(nil)
    var behaviours = PerEndpoint<SimulatedBehaviour?>(nil)
    private var registered: [UInt64: SimulatedBehaviour] = [:]
    private var transactions: [String: KnownTransaction] = [:]
    private var decoded: [String: SimulatedBehaviour] = [:]
    private var attempts: [AttemptKey: Int] = [:]
    private(set) var tally: RequestTally
    var waiters = CounterWaiters()
    /// The number of changes of outages. The end of a timed outage does nothing if this number has changed since the
    /// outage began.
    private(set) var outageGeneration = 0

    init(latency: SimulatedLatency, seed: UInt64, tracksReceipts: Bool, logCapacity: Int) {
        self.latency = latency
        random = SplitMix64(seed: seed)
        tally = RequestTally(tracksReceipts: tracksReceipts, logCapacity: logCapacity)
    }

    /// The facts about a request that the simulation knows before it parses the request's body.
    struct Opening {
        /// The latency in nanoseconds.
        var latency: Int64
        /// The step of an outage or of the error rate; nil without such a step. If it is not nil, the simulation does
        /// not read the receipt.
        var forced: SimulatedStep?
        var needsHash: Bool
    }

    mutating func begin(_ endpoint: SimulatedEnvironment, _ api: SimulatedEndpoint) -> Opening {
        tally.began(endpoint, api)
        var forced = outages[endpoint]?.step
        if forced == nil, let rate = errorRates[endpoint], random.unit() < rate.probability { forced = rate.step }
        let needsHash = tally.needsHash || !registered.isEmpty || behaviours[endpoint] != nil
        return Opening(latency: latency.sample(&random), forced: forced, needsHash: needsHash)
    }

    /// Returns the next step for a receipt, from the first behaviour that exists: the behaviour of the environment, the
    /// registered behaviour, the behaviour inside the receipt.
    mutating func step(
        _ endpoint: SimulatedEnvironment, receipt: UInt64, embedded text: String?
    ) -> SimulatedStep {
        guard let behaviour = behaviours[endpoint] ?? registered[receipt] ?? text.flatMap({ decode($0) }) else {
            return .genuine
        }
        let key = AttemptKey(receipt: receipt, endpoint: behaviour.namesEnvironment ? endpoint : nil)
        let attempt = attempts[key] ?? 0
        if attempt > 0 || attempts.count < Self.maximumReceipts { attempts[key] = attempt + 1 }
        return behaviour.step(attempt: attempt, endpoint: endpoint) ?? .genuine
    }

    /// Returns the next step for a request of the App Store Server API, from the first behaviour that exists: the
    /// behaviour of the environment, of the id at this endpoint, of the endpoint.
    mutating func step(
        _ environment: SimulatedEnvironment, receipt: UInt64, of endpoint: SimulatedEndpoint
    ) -> SimulatedStep {
        let whole = SimulatedTransaction.hash("", endpoint)
        let isOwn = behaviours[environment] != nil || registered[receipt] != nil
        return step(environment, receipt: isOwn ? receipt : whole, embedded: nil)
    }

    private mutating func decode(_ text: String) -> SimulatedBehaviour? {
        if let known = decoded[text] { return known }
        guard let behaviour = SimulatedBehaviour(json: text) else { return nil }
        if decoded.count < Self.maximumDecodedBehaviours { decoded[text] = behaviour }
        return behaviour
    }

    mutating func decided(_ kind: AnswerKind, receipt: UInt64, record: @autoclosure () -> SimulatedRequestRecord) {
        tally.decided(kind, receipt: receipt, record: record())
    }

    mutating func finished() { tally.finished() }
    mutating func connectionOpened() { tally.connectionOpened() }
    mutating func connectionClosed() { tally.connectionClosed() }

    /// - Returns: the new `outageGeneration`, which the end of a timed outage compares with the present one.
    mutating func setOutage(_ outage: SimulatedOutage?, endpoint: SimulatedEnvironment?) -> Int {
        outages.set(outage, endpoint: endpoint)
        outageGeneration += 1
        return outageGeneration
    }

    mutating func register(_ behaviour: SimulatedBehaviour?, receipt: UInt64) {
        attempts[AttemptKey(receipt: receipt, endpoint: nil)] = nil
        for endpoint in SimulatedEnvironment.allCases {
            attempts[AttemptKey(receipt: receipt, endpoint: endpoint)] = nil
        }
        registered[receipt] = behaviour
    }

    /// Sets a behaviour. Without `api`, the behaviour is for a whole environment. With `api` and no `id`, it is for an
    /// endpoint of the App Store Server API, and applies to all ids without a behaviour of their own. With `api` and
    /// `id`, it is for one id.
    mutating func set(
        _ behaviour: SimulatedBehaviour?, of api: SimulatedEndpoint?, id: String?, endpoint: SimulatedEnvironment?
    ) {
        guard let api else { return behaviours.set(behaviour, endpoint: endpoint) }
        register(behaviour, receipt: SimulatedTransaction.hash(id ?? "", api))
    }

    /// Registers a transaction of the App Store Server API with its behaviour.
    mutating func register(_ transaction: SimulatedTransaction) {
        transactions[transaction.transactionID] = transaction.signedTransactionInfo.flatMap {
            KnownTransaction(signedTransactionInfo: $0)
        }
        register(transaction.behaviour, receipt: SimulatedTransaction.hash(transaction.transactionID))
    }

    func transaction(_ id: String) -> KnownTransaction? { transactions[id] }

    mutating func resetCounters() { tally.reset() }

    /// Resets the counters, and ends every fault and behaviour. The latency stays.
    mutating func resetAll() {
        resetCounters()
        _ = setOutage(nil, endpoint: nil)
        errorRates = PerEndpoint(nil)
        behaviours = PerEndpoint(nil)
        registered = [:]
        transactions = [:]
        attempts = [:]
    }
}
