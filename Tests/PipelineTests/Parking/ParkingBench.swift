import Encodings
import Fulfillment
import Identifiers
import Kafka
import Logging
import Operations
import Synchronization
import TestSupport
import Timestamps

@testable import Pipeline

/// A worker on a broker in the process, with Apple, the ledger and the parked submissions in the test's hand.
final class ParkingBench: Sendable {
    static let bundle: BundleID = "com.example.game"

    let apple = Apple()
    let proofs = ScriptedProofs()
    let metrics = ReceiptdMetrics(version: "test")
    /// One app with every policy at its default.
    let catalog = Shared(Catalog(version: 1, apps: [ParkingBench.app]))
    let ledger = Ledger()
    let subscriptions = InMemoryLedger()
    let store = Store()
    let holds = Holds()
    let outage = Outage()
    let queries = InMemoryStoreQueries()
    let worker: SubmissionWorker
    let parking: ParkingContext
    private let cluster: MockCluster

    static var app: AppPolicy {
        var app = AppPolicy(bundleID: bundle)
        app.products = ["gold": Product(id: "gold", kind: .consumable)]
        return app
    }

    /// The same with credentials for the App Store Server API.
    static var serverApp: AppPolicy {
        var app = app
        app.serverAPI = ServerAPICredentials(issuerID: "i", keyID: "k", privateKeySetting: "S")
        return app
    }

    init(
        maximumInFlight: Int = 100, retry: RetryDelay = RetryDelay(initialSeconds: 0, doubtSeconds: 0),
        parkAfterSeconds: Double = 0, refusalChecksPerMinute: Int = 0
    ) throws {
        cluster = try MockCluster(topics: ["receipt-outcomes": 1])
        let properties = KafkaProperties([("bootstrap.servers", cluster.bootstrapServers)])
        var settings = PipelineSettings(consumerProperties: properties, producerProperties: properties)
        settings.maximumInFlight = maximumInFlight
        settings.retry = retry
        settings.parkAfterSeconds = parkAfterSeconds
        settings.apple.concurrency = 10
        parking = ParkingContext(store: store, apple: outage, settings: settings)
        parking.leases.open()
        let logger = Logger(label: "parking") { _ in SwiftLogNoOpLogHandler() }
        worker = SubmissionWorker(
            catalog: { [catalog] in catalog.value },
            verification: PipelineVerification(parser: proofs, verifier: apple, queries: queries, apple: outage),
            ledger: ledger, holds: holds, subscriptions: subscriptions,
            publisher: try OutcomePublisher(settings: settings, health: Health(), logger: logger), lanes: PlayerLanes(),
            parking: parking, refusals: LocalRefusalChecks(perMinute: refusalChecksPerMinute),
            metrics: PipelineMetrics(metrics), logger: logger)
    }

    /// Of the parked submissions.
    func leaseLoop() -> LeaseLoop {
        let source = ParkedSource(
            worker: worker, failures: Failures(), logger: Logger(label: "parked") { _ in SwiftLogNoOpLogHandler() })
        return LeaseLoop(source, worker: worker, health: Health())
    }

    func holdLoop() -> LeaseLoop {
        let source = HeldSource(
            worker: worker, failures: Failures(), logger: Logger(label: "holds") { _ in SwiftLogNoOpLogHandler() })
        return LeaseLoop(source, worker: worker, health: Health())
    }

    /// Has to be called: the producer's thread ends with it.
    func close() {
        worker.publisher.close()
        cluster.close()
    }

    /// Bytes that pass for an app receipt.
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
        isIsolated: Bool = false
    ) -> SubmissionInHand {
        SubmissionInHand(
            AdmittedRecord(
                record: ConsumerRecord(
                    topicPartition: TopicPartition(topic: "receipt-submissions", partition: 0), offset: offset),
                ticket: hasTicket ? worker.lanes.enter(submission.playerID) : nil, assignment: 1,
                mayBeRedelivered: mayBeRedelivered, isIsolated: isIsolated),
            at: Self.position(offset), decoded: .submission(submission))
    }

    /// As the consumer's loop does it.
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
    static let empty = AppleAnswer.genuine(
        GenuineReceipt(bundleID: bundle, environment: .production, purchases: []))
}

extension ParkingBench {
    /// Gives one answer after the other, the last one for good.
    final class Apple: ReceiptVerifier {
        private let state = Mutex<(answers: [AppleAnswer], asked: Int)>(([.trouble(.init(.timeout))], 0))
        private let seen = Mutex<[VerificationRequest.Subject]>([])

        var subjects: [VerificationRequest.Subject] { seen.withLock { $0 } }

        private let asking = Mutex<@Sendable (VerificationRequest) -> Void>({ _ in })

        func onAsk(_ body: @escaping @Sendable (VerificationRequest) -> Void) { asking.withLock { $0 = body } }
        func answer(_ answers: AppleAnswer...) { state.withLock { $0.answers = answers } }
        var asked: Int { state.withLock { $0.asked } }

        func verify(_ request: VerificationRequest) async -> AppleAnswer {
            asking.withLock { $0 }(request)
            seen.withLock { $0.append(request.subject) }
            return state.withLock { state in
                state.asked += 1
                return state.answers.count > 1 ? state.answers.removeFirst() : state.answers[0]
            }
        }
    }

    /// Answers every decision with one rejection of its reason, and remembers it.
    final class Ledger: PurchaseLedger {
        private struct State {
            var decisions: [PendingDecision] = []
            var queries: [RecallQuery] = []
            var recollection = Recollection.nothing
            var known: Set<StoreTransactionID> = []
        }

        private let state = Mutex(State())

        var queries: [RecallQuery] { state.withLock { $0.queries } }
        var decisions: [PendingDecision] { state.withLock { $0.decisions } }
        func recollect(_ recollection: Recollection) { state.withLock { $0.recollection = recollection } }

        /// It has these transactions.
        func know(_ transactions: StoreTransactionID...) { state.withLock { $0.known.formUnion(transactions) } }

        func recollect(_ query: RecallQuery) async throws(LedgerClosed) -> Durable<Recollection> {
            state.withLock { state in
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
            state.withLock { $0.decisions.append(decision) }
            let events = RecordedOutcome.events([
                .rejectedLocally(
                    .noPurchase, submission: decision.submission, proof: decision.proof, position: decision.position)
            ])
            return Durable(events, in: nil)
        }

        func published(_ eventIDs: [NameBasedUUID]) {}
    }

    final class Store: ParkedSubmissions {
        struct PutBack: Equatable {
            let offset: Int64
            let reason: ParkingReason
            let history: WaitingHistory
        }

        typealias Suspect = SuspectLease<LeasedSubmission, SetAsideSubmission>

        struct Content {
            var parked: [ParkingSubmission] = []
            var due: [LeasedSubmission] = []
            var putBack: [PutBack] = []
            var released: [Int64] = []
            var removed: [Int64] = []
            var woken: [BundleID] = []
            var wokenReasons: [[ParkingReason]] = []
            var limits: [Int] = []
            /// What comes of looking for suspects, the first next.
            var suspects: [Suspect] = []
            var forgiven: [Int64] = []
            var refusesEnds = false
            /// The player has as many parked as one may have.
            var isFull = false
        }

        private let state = Mutex(Content())
        var content: Content { state.withLock { $0 } }
        func add(_ leased: LeasedSubmission...) { state.withLock { $0.due += leased } }
        func addSuspects(_ suspects: Suspect...) { state.withLock { $0.suspects += suspects } }
        func fill() { state.withLock { $0.isFull = true } }
        func refuseEnds() { state.withLock { $0.refusesEnds = true } }

        func park(_ submission: ParkingSubmission) async throws(LedgerClosed) -> Durable<ParkingOutcome> {
            state.withLock { state in
                if state.isFull { return Durable(.tooManyWaiting, in: nil) }
                state.parked.append(submission)
                return Durable(.parked, in: nil)
            }
        }

        func leaseDue(limit: Int) async throws -> [LeasedSubmission] {
            state.withLock { state in
                state.limits.append(limit)
                defer { state.due = [] }
                return state.due
            }
        }

        func reschedule(
            _ leased: LeasedSubmission, reason: ParkingReason, detail: String?, history: WaitingHistory,
            dueAfterSeconds: Double
        ) async throws {
            try state.withLock { state throws(Abandoned) in
                if state.refusesEnds { throw Abandoned() }
                state.putBack.append(PutBack(offset: leased.position.offset, reason: reason, history: history))
            }
        }

        func hasSuspect() async throws -> Bool { state.withLock { !$0.suspects.isEmpty } }

        func leaseSuspect() async throws -> Suspect {
            state.withLock { $0.suspects.isEmpty ? .none : $0.suspects.removeFirst() }
        }

        func clearSuspicion(of leased: LeasedSubmission) async throws {
            state.withLock { $0.forgiven.append(leased.position.offset) }
        }

        func endLease(of leased: LeasedSubmission) async throws {
            state.withLock { $0.released.append(leased.position.offset) }
        }

        func delete(_ leased: LeasedSubmission) async throws {
            try state.withLock { state throws(Abandoned) in
                if state.refusesEnds { throw Abandoned() }
                state.removed.append(leased.position.offset)
            }
        }

        func retryBlocked(_ bundleID: BundleID, for reasons: [ParkingReason]) async throws {
            state.withLock {
                $0.woken.append(bundleID)
                $0.wokenReasons.append(reasons)
            }
        }
    }
}
