import Fulfillment
import Kafka
import NamesAndTimes
import Testing

@testable import Pipeline

@Suite("The headers of an event's record")
struct OutcomeHeadersTests {
    @Test(
        "an event's headers are CloudEvents in binary mode, with traceparent and period if the event has them",
        arguments: OutcomeEvent.Kind.allCases)
    func headers(kind: OutcomeEvent.Kind) {
        var event = OutcomeEvent(
            eventID: OutcomeEvent.eventID(.granted, transaction: "1000", revision: 1), kind: kind, reason: nil,
            playerID: "player", bundleID: nil, subject: "1000", occurredAt: Timestamp(milliseconds: 1_795_167_000_000),
            value: [])
        func shown(_ traceparent: String?) -> [String] {
            OutcomeHeaders.of(event, traceparent: traceparent).map {
                "\($0.name): \(String(decoding: $0.value ?? [], as: UTF8.self))"
            }
        }
        let expected = [
            "ce_specversion: 1.0", "ce_id: \(event.eventID)", "ce_type: \(kind.rawValue)", "ce_source: receiptd",
            "ce_subject: 1000", "ce_time: 2026-11-20T09:30:00.000Z", "content-type: application/json",
        ]
        #expect(shown(nil) == expected)
        #expect(shown("00-a-b-01") == expected + ["traceparent: 00-a-b-01"])
        event.period = "period 1"
        #expect(shown(nil) == expected + ["receiptd-period: period 1"])
    }
}
