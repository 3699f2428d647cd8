import Foundation
import NIOCore
import NIOPosix

/// A simulated App Store: an HTTP server on this machine. It answers verifyReceipt and the App Store Server API as
/// Apple does, and fails in all the ways in which Apple was seen to fail.
///
/// The answer to a request comes from the first entry of this list that exists:
///
/// 1. the outage of the environment
/// 2. the error rate of the environment, which chooses requests by chance
/// 3. the behaviour (`SimulatedBehaviour`) of the environment
/// 4. the behaviour registered for the receipt, or for the id at the endpoint of the App Store Server API
/// 5. the behaviour of the endpoint of the App Store Server API
/// 6. the behaviour inside the receipt
/// 7. Apple's ordinary answer
///
/// A receipt contains all data for verifyReceipt's ordinary answer. The App Store Server API answers from a store
/// (`SimulatedStore`). Tests make the store's customers buy, renew and ask for refunds. For a customer of this store,
/// verifyReceipt answers from the store too.
public final class AppStoreSimulation: Sendable {
    public struct Options: Sendable {
        /// The shared secrets by bundle id. If the app of a receipt has a secret here, the simulation answers 21004 to
        /// a request with another `password`.
        public var sharedSecrets: [String: String] = [:]
        /// The keys by bundle id. The simulation answers 401 to a token that another key signed, and to a token of an
        /// app without a key here. If this dictionary is empty, the simulation checks only the token's claims.
        public var serverAPIKeys: [String: SimulatedServerAPIKey] = [:]
        /// True to count the requests for each of the first million receipts.
        public var trackReceipts = false
        /// The most requests that `requestLog` keeps.
        public var logCapacity = 0
        /// The signer of transactions, renewal info, notifications and receipts. If it is nil, their signatures are not
        /// valid, like `SimulatedSignature.dummy`.
        public var signer: SimulatedSigner?
        /// The closure that gets each notification of the store, in order. The function that changes the store calls
        /// this closure before it returns.
        public var notified: (@Sendable (SignedNotification) -> Void)?
        /// The seed of the random latencies and ids, and of the choice of requests by the error rate.
        public var seed: UInt64 = 1
        /// The number of event loops.
        public var threads = 1
        /// A clock that returns the present in milliseconds since 1970.
        public var now: @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970 * 1000) }

        public init() {}
    }

    let service: VerifyReceiptService
    private let listener: SimulationListener
    private let group: MultiThreadedEventLoopGroup
    public let host: String
    public let port: Int

    private init(
        service: VerifyReceiptService, listener: SimulationListener, group: MultiThreadedEventLoopGroup, host: String
    ) {
        self.service = service
        self.listener = listener
        self.group = group
        self.host = host
        port = listener.port
    }

    /// Starts the server. Throws if the address cannot be bound.
    /// - Parameter port: the port; 0 lets the system choose one, which `port` returns.
    public static func start(
        host: String = "127.0.0.1", port: Int = 0, latency: SimulatedLatency = .fixed(0), options: Options = Options()
    ) async throws -> AppStoreSimulation {
        let state = SimulationState(
            latency: latency, seed: options.seed, tracksReceipts: options.trackReceipts,
            logCapacity: options.logCapacity)
        let service = VerifyReceiptService(
            state: state, sharedSecrets: options.sharedSecrets, serverAPIKeys: options.serverAPIKeys,
            store: StoreKeeper(seed: options.seed, signer: options.signer, notified: options.notified), now: options.now
        )
        let group = MultiThreadedEventLoopGroup(numberOfThreads: max(1, options.threads))
        let listener = SimulationListener(group: group, host: host, port: port, service: service)
        do {
            try await listener.open().get()
        } catch {
            try await group.shutdownGracefully()
            throw error
        }
        return AppStoreSimulation(service: service, listener: listener, group: group, host: host)
    }

    /// Closes the listener, resets every connection and ends the threads.
    public func shutdown() async throws {
        try await listener.closeAndReset().get()
        try await group.shutdownGracefully()
    }

    public var productionURL: String { "http://\(host):\(port)/production/verifyReceipt" }
    public var sandboxURL: String { "http://\(host):\(port)/sandbox/verifyReceipt" }

    /// The App Store Server API's address in Production, up to `/inApps/`.
    public var serverAPIProductionURL: String { "http://\(host):\(port)/production" }
    public var serverAPISandboxURL: String { "http://\(host):\(port)/sandbox" }

    public var counters: SimulationCounters { service.update { $0.tally.snapshot } }
    /// The last requests, oldest first; at most `Options.logCapacity`.
    public var requestLog: [SimulatedRequestRecord] { service.update { $0.tally.log.all } }

    /// Returns the number of requests with exactly this `receipt-data`; 0 unless `Options.trackReceipts` is true.
    public func requests(receiptData: String) -> Int {
        let receipt = ReceiptHash.hash(receiptData)
        return service.update { $0.tally.requests(receipt: receipt) }
    }

    /// Returns the number of requests to Get Transaction Info for this id; 0 unless `Options.trackReceipts` is true.
    public func requests(transactionID: String) -> Int {
        let transaction = SimulatedTransaction.hash(transactionID)
        return service.update { $0.tally.requests(receipt: transaction) }
    }

    /// Returns once the counters satisfy `condition`, or once the task is cancelled.
    public func waitUntil(_ condition: @escaping @Sendable (SimulationCounters) -> Bool) async {
        let id = service.update { $0.waiters.makeID() }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isAdded = service.update { $0.waiters.add(id, continuation, condition) }
                if !isAdded { continuation.resume() }
            }
        } onCancel: {
            let cancelled = service.update { $0.waiters.cancel(id) }
            cancelled?.resume()
        }
    }

    /// Sets the behaviour for exactly this `receipt-data`; nil removes the behaviour. The next request for the receipt
    /// gets the first step.
    public func register(receiptData: String, behaviour: SimulatedBehaviour?) {
        let receipt = ReceiptHash.hash(receiptData)
        service.update { $0.register(behaviour, receipt: receipt) }
    }

    /// Registers a transaction of the App Store Server API. It replaces an earlier registration of the same id.
    public func register(_ transaction: SimulatedTransaction) {
        service.update { $0.register(transaction) }
    }

    public func register(_ arrangement: SimulatedArrangement) {
        switch arrangement {
        case .receipt(let receipt): register(receiptData: receipt.receiptData, behaviour: receipt.behaviour)
        case .transaction(let transaction): register(transaction)
        }
    }

    /// Sets the behaviour for all requests to an environment; nil removes the behaviour. Each receipt still has its own
    /// count of requests, which chooses the step.
    /// - Parameter endpoint: the environment; nil for both.
    public func setBehaviour(_ behaviour: SimulatedBehaviour?, endpoint: SimulatedEnvironment? = nil) {
        service.update { $0.behaviours.set(behaviour, endpoint: endpoint) }
    }

    /// Answers a share of the requests, chosen by chance, with this step.
    /// - Parameter probability: the share, from 0 to 1.
    public func setErrorRate(
        _ probability: Double, step: SimulatedStep = .status(21005), endpoint: SimulatedEnvironment? = nil
    ) {
        service.update { $0.errorRates.set(.init(probability: probability, step: step), endpoint: endpoint) }
    }

    public func setLatency(_ latency: SimulatedLatency) {
        service.update { $0.latency = latency }
    }

    /// Begins an outage; nil ends the outage. `.refuse` closes the listener of both environments, whatever `endpoint`
    /// says. Throws if the listener cannot open its port again.
    public func setOutage(_ outage: SimulatedOutage?, endpoint: SimulatedEnvironment? = nil) async throws {
        let outages = OutageSwitch(service: service, listener: listener, group: group)
        try await outages.set(outage, endpoint: endpoint).get()
    }

    /// Resets the counters, the log and the counts for each receipt. Requests in flight and open connections stay
    /// counted.
    public func resetCounters() {
        service.update { $0.resetCounters() }
    }

    /// Resets the counters, and ends every fault and behaviour. The latency stays. A closed listener opens again.
    public func reset() async throws {
        try await setOutage(nil)
        service.update { $0.resetAll() }
    }
}
