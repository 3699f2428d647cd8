import Fulfillment
import Kafka
import Logging
import NamesAndTimes
import Synchronization
import TestSupport
import Testing

@testable import Operations
@testable import Pipeline

@Suite("The worker's log lines about its traffic")
struct TrafficWatchTests {
    private let written = Written()

    private final class Written: Sendable {
        let lines = Mutex<[String]>([])
    }

    private func watch() -> TrafficWatch {
        let logger = Logger(label: "traffic") { [written] label in
            StandardErrorLogHandler(
                label: label, format: .text, level: LogLevelSwitch(.trace), now: { 1_783_069_500_042 },
                write: { bytes in written.lines.withLock { $0.append(String(decoding: bytes, as: UTF8.self)) } })
        }
        return TrafficWatch(metrics: ReceiptdMetrics(version: "test"), logger: logger)
    }

    private var lines: [String] {
        written.lines.withLock { $0.map { String($0.dropFirst("2026-07-03T09:05:00.042Z ".count).dropLast()) } }
    }

    private func record(_ value: String, key: String, offset: Int64) -> ConsumerRecord {
        ConsumerRecord(
            topicPartition: TopicPartition(topic: "receipt-submissions", partition: 3), offset: offset,
            timestampMilliseconds: 1_795_168_000_000, key: Array(key.utf8), value: Array(value.utf8))
    }

    private func submission(_ record: ConsumerRecord) throws -> Submission {
        try #require(SubmissionDecoder().decode(record.value, signatureHeaders: []).submission)
    }

    @Test("after five local refusals and five dead letters, the log has one line for each kind, about the first")
    func refusals() throws {
        let watch = watch()
        for offset in 0..<5 as Range<Int64> {
            let record = record(
                #"{"submission_id":"s-\#(offset)","player_id":"p","bundle_id":"b","receipt_data":"!"}"#, key: "p",
                offset: offset)
            let (submission, position) = (try submission(record), Sample.position(record))
            let refusal = Refusal(.malformedReceipt, .notBase64)
            watch.refused(
                submission, for: refusal,
                by: .rejectedLocally(refusal, submission: submission, proof: nil, position: position))
            watch.buried(
                DeadLetter(reason: .malformedMessage, detail: "player_id is missing", code: "field_missing"),
                key: nil, at: position)
        }
        #expect(
            lines == [
                "info     [traffic] submissions were rejected without asking Apple count=1 detail=not_base64 "
                    + "reason=malformed_receipt submission_id=s-0",
                "notice   [traffic] records became dead letters count=1 detail=\"player_id is missing\" offset=0 partition=3 "
                    + "reason=malformed_message topic=receipt-submissions",
            ])
    }

    @Test("the worker warns once about record keys that are not player_id, and once about a misspelt field")
    func integrations() throws {
        let watch = watch()
        let record = record(
            #"{"submission_id":"s-1","player_id":"p","bundle_id":"b","receipt_data":"!","order-id":"o"}"#, key: "q",
            offset: 1)
        watch.took(try submission(record), in: record)
        watch.took(try submission(record), in: record)
        #expect(
            lines == [
                "warning  [traffic] records are not keyed by player_id: a player's submissions may be decided out of order "
                    + "count=1 submission_id=s-1",
                "warning  [traffic] submissions have an unknown field whose name is close to a known one "
                    + #"detail="\"order-id\": did you mean order_id?" submission_id=s-1"#,
            ])
    }
}
