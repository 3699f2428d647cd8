import AppStoreSimulation
import Encodings
import Foundation
import Fulfillment
import Kafka
import Postgres
import TestSupport
import Testing

@testable import Demo

@Suite("Refunds, end to end", .wholeSystem)
struct NotificationTests {
    private static let roots = ["APPLE_ROOT_CERTIFICATES_FILE": Seeds.signing.appendingPathComponent("root.pem").path]
    private static let boughtAt: Int64 = 1_777_629_600_000

    /// Returns the body of a notification about a purchase of gems. Apple signed it `day` days after the purchase.
    private static func body(
        _ type: String, of transaction: String, day: Int64, id: String? = nil, appAppleID: Int64 = 1_450_000_001,
        product: String = "com.example.castle.gems.100"
    ) throws -> String {
        let signedAt = boughtAt + day * 86_400_000
        let purchase = SimulatedPurchase(
            transactionID: transaction, productID: product, purchaseDateMilliseconds: boughtAt)
        return try SimulatedSigner(folder: Seeds.signing.path).notificationBody(
            SimulatedNotification(
                type: type, id: id ?? "\(type)-\(transaction)-\(day)", bundleID: ParkingBed.castle,
                appAppleID: appAppleID, signedDateMilliseconds: signedAt,
                transaction: SimulatedNotification.claims(
                    of: purchase, bundleID: ParkingBed.castle, signedDateMilliseconds: signedAt,
                    revokedAt: type == "REFUND_REVERSED" ? nil : signedAt)))
    }

    private func revision(of transaction: String, in bed: ParkingBed) async throws -> Int64 {
        try await bed.number("SELECT revision FROM grants WHERE transaction_id = '\(transaction)'")
    }

    @Test(
        "if a worker dies after a refund's COMMIT or publication, workers revoke the grant once, with one event",
        arguments: ["refunded", "refundPublished"])
    func killed(_ point: String) async throws {
        try await ParkingBed.run { bed in
            let doomed = try bed.startWorker(Self.roots.merging(["RECEIPTD_CRASH_AFTER": point]) { $1 })
            try await bed.submit("p-1", ParkingBed.receipt("8401"))
            try await bed.until("it is granted") { bed.answers("p-1") == ["receipt.granted"] }
            try await bed.notify(Self.body("REFUND", of: "8401", day: 2))
            try await bed.until("the worker dies") { !doomed.isRunning }
            #expect(try await revision(of: "8401", in: bed) == 2)
            let successor = try bed.startWorker(Self.roots)
            try await bed.until("it is revoked") {
                bed.answers("p-1") == ["receipt.granted", "receipt.revoked refund"]
            }
            try await bed.until("the notification is done with") {
                try await bed.parts.notificationsDone(in: bed.pool) == 1
            }
            try await bed.until("nothing is owed") { try await bed.number("SELECT count(*) FROM outbox") == 0 }
            #expect(try await revision(of: "8401", in: bed) == 2)
            let copies = (bed.outcomes.collected.events["p-1"] ?? []).filter { $0["type"]?.string == "receipt.revoked" }
            #expect(!copies.isEmpty && Set(copies.map { "\($0)" }).count == 1, "\(copies)")
            try await bed.notify(Self.body("REFUND_REVERSED", of: "8401", day: 3))
            try await bed.until("it is reinstated") { bed.answers("p-1").last == "receipt.reinstated" }
            #expect(try await bed.number("SELECT count(*) FROM grants WHERE revoked_at IS NULL") == 1)
            // The worker has consumers of two topics, and must stop in order.
            successor.terminate()
            #expect(try await blocking { successor.wait() } == 0)
        }
    }

    @Test("if Apple refunds a held purchase, the list of holds shows the refund, and a release rejects the purchase")
    func held() async throws {
        try await ParkingBed.run { bed in
            _ = try bed.startWorker(Self.roots)
            let unknown = "com.example.castle.comet.1"
            try await bed.submit("p-held", ParkingBed.receipt("8402", product: unknown))
            try await bed.until("it is held") { bed.answers("p-held") == ["receipt.held unknown_product"] }
            try await bed.notify(Self.body("REFUND", of: "8402", day: 1, product: unknown))
            try await bed.until("the refund is remembered") {
                try await bed.number("SELECT count(*) FROM refunds WHERE revoked_at IS NOT NULL") == 1
            }
            #expect(try await bed.holds("list").output.contains("Apple has refunded it"))
            let inspected = try await bed.command(["inspect", "8402"])
            #expect(
                inspected.output.contains("refunds (1)") && inspected.output.contains("refund notices (1)"),
                "\(inspected)")
            #expect(bed.answers("p-held") == ["receipt.held unknown_product"])
            #expect(try await bed.holds("release", "8402").code == 0)
            try await bed.until("it ends") {
                bed.answers("p-held") == ["receipt.held unknown_product", "receipt.rejected cancelled"]
            }
            #expect(try await bed.number("SELECT count(*) FROM grants") == 0)
        }
    }

    @Test("`dead-letters redrive` republishes a notification to the notifications topic, and the refund takes effect")
    func redriven() async throws {
        try await ParkingBed.run { bed in
            _ = try bed.startWorker(Self.roots)
            try await bed.submit("p-2", ParkingBed.receipt("8403"))
            try await bed.until("it is granted") { bed.answers("p-2") == ["receipt.granted"] }
            try await bed.notify(Self.body("REFUND", of: "8403", day: 1, appAppleID: 1_450_000_099))
            try await bed.until("it is set aside") { bed.outcomes.collected.deadLetters["apple"]?.count == 1 }
            let letter = try #require(bed.outcomes.collected.deadLetters["apple"]?.first)
            let headers = Dictionary(
                letter.headers.map { ($0.name, String(decoding: $0.value ?? [], as: UTF8.self)) },
                uniquingKeysWith: { $1 })
            #expect(headers["dead-letter-reason"] == "malformed_message")
            #expect(headers["dead-letter-topic"] == bed.parts.notificationsTopic)
            #expect(headers["dead-letter-detail"]?.isEmpty == false)
            try await bed.importCatalog(
                bed.document.replacing("app_apple_id: 1450000001\n", with: "app_apple_id: 1450000099\n"))
            // The command gets the worker's root certificates. With other certificates the notification would become a
            // dead letter again.
            let environment = bed.environment(Self.roots)
            try await bed.until("the catalog is in force") {
                try await Program.run(["dead-letters", "redrive", "--again"], environment: environment).code == 0
                    && bed.answers("p-2").last == "receipt.revoked refund"
            }
            #expect(try await bed.number("SELECT count(*) FROM grants WHERE revoked_at IS NOT NULL") == 1)
        }
    }

    @Test(
        "without a notifications topic the worker grants and logs one warning, and reads the topic once it exists",
        .onlyInProcessBroker)
    func noTopic() async throws {
        try await ParkingBed.run { bed in
            let topic = bed.parts.notificationsTopic
            bed.parts.broker?.setTopicError(topic, KafkaError.Code.unknownTopicOrPartition)
            let kafka = "session.timeout.ms=4000;heartbeat.interval.ms=500;topic.metadata.refresh.interval.ms=500"
            let worker = try bed.startWorker(Self.roots.merging(["KAFKA_PROPERTIES": kafka]) { $1 })
            try await bed.submit("p-3", ParkingBed.receipt("8404"))
            try await bed.until("it is granted") { bed.answers("p-3") == ["receipt.granted"] }
            let log = { (try? String(contentsOf: worker.logFile, encoding: .utf8)) ?? "" }
            func complaints() -> Int {
                log().split(separator: "\n").count { $0.contains("a topic does not exist") && $0.contains(topic) }
            }
            try await bed.until("it says so") { complaints() == 1 }
            bed.parts.broker?.setTopicError(topic, 0)
            try await bed.notify(Self.body("REFUND", of: "8404", day: 1))
            try await bed.until("it is revoked") { bed.answers("p-3").last == "receipt.revoked refund" }
            worker.terminate()
            #expect(try await blocking { worker.wait() } == 0)
            #expect(complaints() == 1)
            #expect(!log().contains("Kafka reports an error with a topic"))
        }
    }

    @Test("after 1,000 refunds and reversals and a worker's death, each revision of a grant has exactly one event")
    func many() async throws {
        try await ParkingBed.run { bed in
            let first = try bed.startWorker(Self.roots)
            _ = try bed.startWorker(Self.roots)
            let ids = (0..<40).map { "85\(100 + $0)" }
            for id in ids { try await bed.submit("p-\(id)", ParkingBed.receipt(id)) }
            try await bed.until("all are granted") { try await bed.number("SELECT count(*) FROM grants") == 40 }
            for round in 0..<25 {
                for id in ids {
                    let type = round % 5 == 3 ? "REFUND_REVERSED" : "REFUND"
                    try await bed.notify(Self.body(type, of: id, day: Int64(round / 5 * 2 + (round % 5 == 3 ? 1 : 0))))
                }
                if round == 12 { await bed.kill(first) }
            }
            try await bed.until("all are taken") { try await bed.parts.notificationsDone(in: bed.pool) == 1000 }
            try await bed.until("nothing is owed") { try await bed.number("SELECT count(*) FROM outbox") == 0 }
            // The newest notification of each purchase is the reversal of the last day.
            #expect(try await bed.number("SELECT count(*) FROM grants WHERE revoked_at IS NULL") == 40)
            #expect(try await bed.number("SELECT count(*) FROM refund_notices") == 40 * 10)
            for id in ids {
                let revision = try await revision(of: id, in: bed)
                try await bed.until("\(id) has an event for each revision") {
                    bed.answers("p-\(id)").count >= Int(revision)
                }
                let answers = bed.answers("p-\(id)")
                #expect(Int64(answers.count) == revision, "\(id): \(answers)")
                #expect(answers.count { $0 == "receipt.granted" } == 1)
                let revoked = answers.count { $0.hasPrefix("receipt.revoked") }
                #expect(revoked == answers.count { $0 == "receipt.reinstated" }, "\(id): \(answers)")
            }
        }
    }

    @Test("if a restore of the database loses a refund, the worker reads the refund again and revokes the grant again")
    func fallback() async throws {
        let plan = Plan.genuine(count: 3, players: 3)
        try await Testbed.run { bed in
            let worker = try bed.startWorker()
            try await bed.submit(plan.records)
            try await bed.settle(plan)
            try await eventually("the offsets are checkpointed") {
                let known = "SELECT count(*) FROM offset_checkpoints WHERE topic = '\(bed.parts.notificationsTopic)'"
                return try await bed.query(known) { $0.int8(0, 0) } == Int64(EmbeddedParts.partitions)
            }
            let name = try #require(bed.databaseURL.split(separator: "/").last?.removingPercentEncoding)
            try await SharedServer.replace("\(name)_before", byCopyOf: name)
            let body = try Self.body("REFUND", of: "91000001", day: 1)
            _ = try await bed.producer.send(
                ProducerRecord(
                    topic: bed.parts.notificationsTopic, partition: nil, key: Array("apple".utf8),
                    value: Array(body.utf8), headers: [], timestampMilliseconds: nil))
            let revoked = { bed.outcomes.content.events.filter { $0.type == "receipt.revoked" } }
            try await eventually("it is revoked") { !revoked().isEmpty }
            // The first query may use a connection that the restore closed.
            try await eventually("it is done with") { (try? await bed.parts.notificationsDone(in: bed.pool)) == 1 }
            try await SharedServer.replace(name, byCopyOf: "\(name)_before")
            try await eventually("it is revoked again") {
                let statement = "SELECT count(*) FROM grants WHERE revoked_at IS NOT NULL"
                return (try? await bed.query(statement) { $0.int8(0, 0) }) == 1
            }
            Self.expectOneRevocation(revoked())
            #expect(
                worker.log.contains("the worker reads a topic again")
                    || worker.log.contains("the worker reads these records again"))
            // The worker wrote this row, so that later revisions of subscriptions are higher than the revisions that
            // the restore lost.
            let kept = "SELECT count(*) FROM offsets_decided_again WHERE topic = '\(bed.parts.notificationsTopic)'"
            #expect(try await bed.query(kept) { $0.int8(0, 0) } == 1)
        }
    }

    /// Checks the events about a lost revocation. `receipt.revoked` was published before the restore. The worker
    /// publishes the event again with the same id, or with a higher revision and a new id.
    private static func expectOneRevocation(_ told: [OutcomeLog.Event]) {
        #expect(Set(told.map(\.transactionID)) == ["91000001"])
        let revisions = told.compactMap { event -> Int64? in
            if case .number(let text)? = event.json["revision"] { Int64(text) } else { nil }
        }
        #expect(revisions.count == told.count && revisions == revisions.sorted())
        #expect(Set(told.map(\.id)).count == Set(revisions).count)
    }

    @Test("if a restore of the database loses a refunded grant, the worker makes the grant again and then revokes it")
    func lostGrant() async throws {
        let plan = Plan.genuine(count: 3, players: 3)
        // Apple answers slowly. So after the restore the worker reads the refund before it decides the submission
        // again.
        try await Testbed.run(latency: .uniform(700, 800)) { bed in
            let worker = try bed.startWorker()
            let name = try #require(bed.databaseURL.split(separator: "/").last?.removingPercentEncoding)
            try await SharedServer.replace("\(name)_before", byCopyOf: name)
            try await bed.submit(plan.records)
            try await bed.settle(plan)
            let granted = bed.outcomes.content.events.filter { $0.type == "receipt.granted" }
            #expect(Set(granted.map(\.id)).count == 3)
            try await eventually("the offsets are committed") { try await bed.lag() == 0 }
            let body = try Self.body("REFUND", of: "91000001", day: 1)
            _ = try await bed.producer.send(
                ProducerRecord(
                    topic: bed.parts.notificationsTopic, partition: nil, key: Array("apple".utf8),
                    value: Array(body.utf8), headers: [], timestampMilliseconds: nil))
            let revoked = { bed.outcomes.content.events.filter { $0.type == "receipt.revoked" } }
            try await eventually("it is revoked") { !revoked().isEmpty }
            try await SharedServer.replace(name, byCopyOf: "\(name)_before")
            try await eventually("all three are granted again, and the refunded one is revoked") {
                let statement = "SELECT count(*) + count(revoked_at) * 10 FROM grants"
                return (try? await bed.query(statement) { $0.int8(0, 0) }) == 13
            }
            try await eventually("nothing is owed") {
                (try? await bed.query("SELECT count(*) FROM outbox") { $0.int8(0, 0) }) == 0
            }
            Self.expectOneRevocation(revoked())
            #expect(bed.outcomes.content.events.allSatisfy { $0.type != "receipt.rejected" })
            #expect(worker.process.isRunning)
        }
    }
}
