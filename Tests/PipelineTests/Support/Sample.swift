import Foundation
import Fulfillment
import NamesAndTimes

@testable import Kafka
@testable import Pipeline

enum Sample {
    static let bundle: BundleID = "com.example.game"
    /// The bundle id of an app that a test removes from the catalog.
    static let withdrawnBundle: BundleID = "com.example.withdrawn"
    static let product: ProductID = "gold.1"
    static let submissions = "receipt-submissions"
    static let outcomes = "receipt-outcomes"
    static let deadLetters = "receipt-dead-letters"

    static var catalog: Catalog {
        var app = AppPolicy(bundleID: bundle)
        app.products = [product: Product(id: product, kind: .consumable)]
        return Catalog(version: 1, apps: [app, AppPolicy(bundleID: withdrawnBundle)])
    }

    /// Returns Base64 text that the worker reads as an app receipt: the beginning of PKCS #7, then the name. The name
    /// is also the transaction's id.
    static func receipt(_ name: String) -> String {
        Data(receiptHead + Array(name.utf8)).base64EncodedString()
    }

    static func name(ofReceipt receipt: String) -> String {
        String(decoding: (Data(base64Encoded: receipt) ?? Data()).dropFirst(receiptHead.count), as: UTF8.self)
    }

    private static let receiptHead: [UInt8] = [
        0x30, 0x20, 0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x02,
    ]

    static func genuine(_ transaction: String) -> AppleAnswer {
        let id = StoreTransactionID(transaction)
        return .genuine(
            GenuineReceipt(
                bundleID: bundle, environment: .production,
                purchases: [
                    StorePurchase(
                        transactionID: id, originalTransactionID: id, productID: product,
                        purchasedAt: Timestamp(milliseconds: 1_795_167_000_000))
                ]))
    }

    /// Returns the value of a record that a game server sends for a submission.
    static func value(id: String, player: String, receipt: String, bundle: BundleID = bundle) -> [UInt8] {
        Array(
            #"{"submission_id":"\#(id)","player_id":"\#(player)","bundle_id":"\#(bundle)","receipt_data":"\#(receipt)"}"#
                .utf8)
    }

    static func record(
        offset: Int64 = 0, key: [UInt8]? = nil, value: [UInt8]? = [], headers: [KafkaHeader] = []
    ) -> ConsumerRecord {
        ConsumerRecord(
            topicPartition: TopicPartition(topic: submissions, partition: 0), offset: offset,
            timestampMilliseconds: 1_795_167_000_000, key: key, value: value, headers: headers)
    }

    static func position(_ record: ConsumerRecord) -> RecordPosition {
        RecordPosition(
            topic: record.topicPartition.topic, partition: record.topicPartition.partition, offset: record.offset,
            timestamp: Timestamp(milliseconds: record.timestampMilliseconds ?? 0),
            content: Digest256(hashing: record.value ?? []))
    }

    static func inFlight(
        offset: Int64 = 0, assignment: UInt64 = 1, epoch: Int = 0, record: ConsumerRecord? = nil
    ) -> RecordInHand {
        let record = record ?? Self.record(offset: offset)
        return RecordInHand(
            AdmittedRecord(
                record: record, decoded: .deadLetter(DeadLetter(reason: .malformedMessage, detail: "a test's")),
                assignment: assignment, epoch: epoch, mayBeRedelivered: false),
            at: position(record))
    }

    /// Returns an event with an id of its own, whose value has about `bytes` bytes more than the shortest value.
    static func event(_ number: Int, player: PlayerID = "player", bytes: Int = 0) -> OutcomeEvent {
        OutcomeEvent(
            eventID: OutcomeEvent.eventID(.granted, transaction: Identifier("\(player) \(number)"), revision: 1),
            kind: .granted, reason: nil, playerID: player, bundleID: "com.example.game",
            subject: Identifier("\(number)"),
            occurredAt: Timestamp(milliseconds: 0),
            value: Array("\(number)".utf8) + [UInt8](repeating: 0x20, count: bytes))
    }
}

extension KafkaError {
    /// Makes a broker's error, of which only `code` matters.
    static func sample(_ code: Int32) -> KafkaError {
        KafkaError(code: code, name: "sample", message: "", isFatal: false, isRetriable: true)
    }
}
