import Fulfillment
import Kafka
import NamesAndTimes

/// The headers of an event's record: CloudEvents 1.0, Kafka protocol binding, binary mode.
enum OutcomeHeaders {
    /// The name of the header with a granted event's paid period. Only `PublishedGrants` reads it.
    static let period = "receiptd-period"
    private static let version = KafkaHeader("ce_specversion", "1.0")
    private static let source = KafkaHeader("ce_source", "receiptd")
    private static let contentType = KafkaHeader("content-type", "application/json")
    /// The header of each kind of event, allocated once.
    private static let kinds = Dictionary(
        uniqueKeysWithValues: OutcomeEvent.Kind.allCases.map { ($0, KafkaHeader("ce_type", $0.rawValue)) })

    static func of(_ event: OutcomeEvent, traceparent: String?) -> [KafkaHeader] {
        var headers: [KafkaHeader] = []
        headers.reserveCapacity(9)
        headers.append(version)
        headers.append(KafkaHeader("ce_id", event.eventID.description))
        headers.append(kinds[event.kind] ?? KafkaHeader("ce_type", event.kind.rawValue))
        headers.append(source)
        headers.append(KafkaHeader("ce_subject", event.subject.text))
        headers.append(KafkaHeader("ce_time", event.occurredAt.rfc3339))
        headers.append(contentType)
        if let period = event.period { headers.append(KafkaHeader(Self.period, period.text)) }
        if let traceparent { headers.append(KafkaHeader("traceparent", traceparent)) }
        return headers
    }
}

extension KafkaHeader {
    fileprivate init(_ name: String, _ value: String) {
        self.init(name: name, value: Array(value.utf8))
    }
}
