import Kafka
import Logging
import Operations
import Testing

@testable import Pipeline

@Suite("Detection of unread records that Kafka deleted")
struct DeletedUnreadTests {
    private func line(_ message: String, level: Int32 = 4, facility: String = "OFFSET") -> KafkaLogLine {
        KafkaLogLine(level: level, facility: facility, message: message)
    }

    @Test("after librdkafka resets the offset, the worker counts the skipped offsets as deleted records")
    func reset() {
        #expect(DeletedUnread.lost(from: 10, to: 50, resets: [10], earliest: nil) == 10...49)
        // Offsets 10 and 11 are transaction markers before the deleted records.
        #expect(DeletedUnread.lost(from: 10, to: 50, resets: [12], earliest: -1) == 12...49)
        // The first reset belongs to an earlier gap. The second reset belongs to a later gap.
        #expect(DeletedUnread.lost(from: 10, to: 50, resets: [9], earliest: -1) == nil)
        #expect(DeletedUnread.lost(from: 10, to: 12, resets: [20], earliest: -1) == nil)
    }

    @Test("offsets before the log's start count as deleted records; gaps by compaction or transaction markers do not")
    func earliest() {
        #expect(DeletedUnread.lost(from: 10, to: 50, resets: [], earliest: 50) == 10...49)
        #expect(DeletedUnread.lost(from: 10, to: 50, resets: [], earliest: 48) == 10...47)
        #expect(DeletedUnread.lost(from: 10, to: 50, resets: [], earliest: 10) == nil)
        #expect(DeletedUnread.lost(from: 10, to: 11, resets: [], earliest: 0) == nil)
        #expect(DeletedUnread.lost(from: 10, to: 11, resets: [], earliest: nil) == nil)
        // librdkafka fetched the record before Kafka deleted the start of the log.
        #expect(DeletedUnread.lost(from: 10, to: 11, resets: [], earliest: 30) == nil)
    }

    @Test("the worker reports deleted records as an incident with count, offsets and time")
    func told() {
        let metrics = ReceiptdMetrics(version: "test")
        LostRecords(partition: TopicPartition(topic: "t", partition: 3), first: 60, last: 499)
            .tell(goingOnAt: 500, metrics, Logger(label: "lost") { _ in SwiftLogNoOpLogHandler() })
        #expect(metrics.incidents.take() == [Incidents.Entry(.deletedUnread, of: "t/3: 60 to 499", count: 440)])
        let told = metrics.registry.render().split(separator: "\n")
        #expect(told.contains(#"receiptd_incidents{kind="deleted_unread"} 440"#))
        let time = told.first { $0.hasPrefix(#"receiptd_incident_timestamp_seconds{kind="deleted_unread"}"#) }
        #expect(time.flatMap { Double($0.split(separator: " ").last ?? "") }.map { $0 > 1_700_000_000 } == true)
        #expect(told.contains(#"receiptd_incident_timestamp_seconds{kind="crashed"} 0"#))
    }

    @Test("the parser reads partition and offset from librdkafka's line about an offset reset, and the line is logged")
    func lines() {
        let place = KafkaError.Place(
            topicPartition: TopicPartition(topic: "receipt-submissions", partition: 3), offset: 500)
        let old = line(
            "[thrd:main]: receipt-submissions [3]: offset reset (at offset 500, broker 1) to offset BEGINNING: x")
        let new = line(
            "[thrd:main]: receipt-submissions [3]: offset reset (at offset 500 (leader epoch 2), broker 1) to END: x")
        #expect(old.offsetReset == place && new.offsetReset == place)
        #expect(line(old.message, level: 7).offsetReset == nil)
        #expect(line(old.message, facility: "FETCH").offsetReset == nil)
        #expect(line("[thrd:main]: t [0]: offset commit failed").offsetReset == nil)
        var fold = KafkaFold()
        #expect(fold.hear(old, from: 1, now: 0) == [.other(old, leftOut: 0)])
    }
}
