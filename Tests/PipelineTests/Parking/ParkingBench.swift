import Encodings
import Fulfillment
import Kafka
import Logging
import NamesAndTimes
import Operations
import Synchronization
import TestSupport

@testable import Pipeline

/// A worker on an in-process broker. The test controls Apple, the ledger and the parked submissions.
final class ParkingBench: Sendable {
    static let bundle: BundleID = "com.example.game"

    /// Every change of the stores and doubles below raises this signal.
    let changes: ChangeSignal
    /// The scripted Apple, which fails for every proof unless a test gives an answer.
    let apple: ScriptedVerifier
    let ledger: Ledger
    let subscriptions: InMemoryLedger
    let store: Store
    let holds: Holds
    let outage: Outage
    let proofs = ScriptedProofs()
    let metrics = ReceiptdMetrics(version: "test")
    /// A catalog of one app with every policy at its default.
    let catalog = Shared(Catalog(version: 1, apps: [ParkingBench.app]))
    let queries = InMemoryStoreQueries()
    let worker: SubmissionWorker
    let heldWorker: HeldPurchaseWorker
    let parking: ParkingContext
    private let cluster: MockCluster

    static var app: AppPolicy {
        var app = AppPolicy(bundleID: bundle)
        app.products = ["gold": Product(id: "gold", kind: .consumable)]
        return app
    }

    /// The same app with credentials for the App Store Server API.
    static var serverApp: AppPolicy {
        var app = app
        app.serverAPI = ServerAPICredentials(issuerID: "i", keyID: "k", privateKeySetting: "S")
        return app
    }

    /// - Parameters:
    ///   - parked: a store that replaces the bench's own store of parked submissions.
    ///   - database: a ledger that replaces the bench's own ledger, holds and subscriptions.
    init(
        maximumInFlight: Int = 100, retry: RetryDelay = RetryDelay(initialSeconds: 0, doubtSeconds: 0),
        parkAfterSeconds: Double = 0, refusalChecksPerMinute: Int = 0,
        parked: (any ParkedSubmissions)? = nil, database: InMemoryLedger? = nil
    ) throws {
        let changes = ChangeSignal()
        self.changes = changes
        apple = ScriptedVerifier(changes: changes, unscripted: { _ in .trouble(.init(.timeout)) })
        ledger = Ledger(changes: changes)
        subscriptions = InMemoryLedger(changes: changes)
        store = Store(changes: changes)
        holds = Holds(changes: changes)
        outage = .withAnswers(changes: changes)
        cluster = try MockCluster(topics: ["receipt-outcomes": 1])
        let properties = KafkaProperties([("bootstrap.servers", cluster.bootstrapServers)])
        var settings = PipelineSettings(consumerProperties: properties, producerProperties: properties)
        settings.maximumInFlight = maximumInFlight
        settings.retry = retry
        settings.parkAfterSeconds = parkAfterSeconds
        settings.apple.concurrency = 10
        parking = ParkingContext(store: parked ?? store, apple: outage, settings: settings)
        parking.leases.open()
        let logger = Logger(label: "parking") { _ in SwiftLogNoOpLogHandler() }
        let desk = AppleDesk(
            verification: PipelineVerification(parser: proofs, verifier: apple, queries: queries, apple: outage),
            ledger: database ?? ledger, subscriptions: database ?? subscriptions, parking: parking,
            metrics: PipelineMetrics(metrics), logger: logger)
        worker = SubmissionWorker(
            catalog: { [catalog] in catalog.value }, desk: desk, ledger: database ?? ledger,
            publisher: try OutcomePublisher(settings: settings, health: Health(), logger: logger), lanes: PlayerLanes(),
            refusals: LocalRefusalChecks(perMinute: refusalChecksPerMinute))
        heldWorker = HeldPurchaseWorker(
            catalog: { [catalog] in catalog.value }, desk: desk, holds: database ?? holds,
            publication: worker.publication)
    }

    /// Makes the loop of parked submissions.
    func leaseLoop() -> DueWorkLoop<ParkedSource> { loop(parkedSource()) }

    func holdLoop() -> DueWorkLoop<HeldSource> { loop(heldSource()) }

    private func loop<Source>(_ source: Source) -> DueWorkLoop<Source> {
        DueWorkLoop(
            source, health: Health(), behind: parking.leases, isAppleDown: { [apple = parking.apple] in apple.isDown })
    }

    func parkedSource() -> ParkedSource {
        ParkedSource(
            worker: worker, failures: Failures(), logger: Logger(label: "parked") { _ in SwiftLogNoOpLogHandler() })
    }

    func heldSource() -> HeldSource {
        HeldSource(
            worker: heldWorker, failures: Failures(), logger: Logger(label: "holds") { _ in SwiftLogNoOpLogHandler() })
    }

    /// Closes the producer. Nothing else ends the producer's thread.
    func close() {
        worker.publisher.close()
        cluster.close()
    }

    /// Returns Base64 text that the worker reads as an app receipt.
    static func receipt(_ name: String) -> String {
        let head: [UInt8] = [0x30, 0x20, 0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x02]
        return Base64.encode(head + Array(name.utf8))
    }

    static func submission(_ name: String, player: PlayerID = "player-1") -> Submission {
        Submission(
            submissionID: Identifier(name), playerID: player, bundleID: bundle, proof: .receipt(receipt(name)))
    }

    static func position(_ offset: Int64) -> RecordPosition {
        RecordPosition(
            topic: "receipt-submissions", partition: 0, offset: offset,
            timestamp: Timestamp(milliseconds: 1_795_167_000_000), content: Digest256(hashing: Array("\(offset)".utf8)))
    }

    func item(
        _ submission: Submission, offset: Int64 = 1, hasTicket: Bool = true, mayBeRedelivered: Bool = false,
        isIsolated: Bool = false, isSetAside: Bool = false
    ) -> SubmissionInHand {
        SubmissionInHand(
            AdmittedRecord(
                record: ConsumerRecord(
                    topicPartition: TopicPartition(topic: "receipt-submissions", partition: 0), offset: offset),
                decoded: .submission(submission), ticket: hasTicket ? worker.lanes.enter(submission.playerID) : nil,
                assignment: 1,
                mayBeRedelivered: mayBeRedelivered, isIsolated: isIsolated, isSetAside: isSetAside),
            at: Self.position(offset))
    }

    /// Works on a submission, then leaves its player's lane, as the consumer's loop does.
    func work(on item: SubmissionInHand) async throws {
        defer { if let ticket = item.ticket { worker.lanes.leave(ticket) } }
        try await worker.work(on: item)
    }

    static func leased(
        _ submission: Submission, offset: Int64 = 1, _ reason: ParkingReason = .appleTrouble,
        history: WaitingHistory = WaitingHistory(failures: 1, parkings: 1), isDue: Bool = true
    ) -> LeasedSubmission {
        LeasedSubmission(
            id: position(offset).parkedID, submission: submission, position: position(offset),
            proof: DecodedProof(submission.proof)?.digest ?? position(offset).content, traceparent: nil, reason: reason,
            history: history, isDue: isDue, lease: 1)
    }

    static let genuine = AppleAnswer.genuine(
        GenuineReceipt(
            bundleID: bundle, environment: .production,
            purchases: [
                StorePurchase(
                    transactionID: "1000", originalTransactionID: "1000", productID: "gold",
                    purchasedAt: Timestamp(milliseconds: 1_795_167_000_000))
            ]))
    static let emptyInSandbox = AppleAnswer.genuine(
        GenuineReceipt(bundleID: bundle, environment: .sandbox, purchases: []))
    static let empty = AppleAnswer.genuine(
        GenuineReceipt(bundleID: bundle, environment: .production, purchases: []))
}

extension ParkingBench {
    /// A ledger that settles every decision as a rejection with the reason `noPurchase`, and records the decision.
    final class Ledger: PurchaseLedger {
        private struct State {
            var decisions: [PendingDecision] = []
            var queries: [RecallQuery] = []
            var recollection = Recollection.nothing
            var known: Set<StoreTransactionID> = []
        }

        private let state: Shared<State>

        init(changes: ChangeSignal) { state = Shared(State(), changes) }

        var queries: [RecallQuery] { state.read(\.queries) }
        var decisions: [PendingDecision] { state.read(\.decisions) }
        func recollect(_ recollection: Recollection) { state.update { $0.recollection = recollection } }

        /// Adds these transactions to the ledger.
        func know(_ transactions: StoreTransactionID...) { state.update { $0.known.formUnion(transactions) } }
        func forget(_ transaction: StoreTransactionID) { state.update { _ = $0.known.remove(transaction) } }

        func recollect(_ query: RecallQuery) async throws(LedgerClosed) -> Durable<Recollection> {
            state.update { state in
                state.queries.append(query)
                if let evidence = query.evidence,
                    evidence.purchases.allSatisfy({ state.known.contains($0.transactionID) })
                {
                    return Durable(.provenBefore(evidence), in: nil)
                }
                return Durable(state.recollection, in: nil)
            }
        }

        func settle(_ decision: PendingDecision) async throws(LedgerClosed) -> Durable<RecordedOutcome> {
            state.update { $0.decisions.append(decision) }
            let events = RecordedOutcome.events([
                .rejectedLocally(
                    Refusal(.noPurchase), submission: decision.submission, proof: decision.proof,
                    position: decision.position)
            ])
            return Durable(events, in: nil)
        }

        func published(_ eventIDs: [NameBasedUUID]) {}
    }
}
