import Fulfillment
import Kafka

extension ConsumerRecord {
    /// The record's W3C trace context; nil if it has none, or one that is not valid.
    var traceparent: String? {
        guard !headers.isEmpty, let value = headers.last(where: { $0.name == "traceparent" })?.value,
            TraceParent.isSound(value)
        else { return nil }
        return String(decoding: value, as: UTF8.self)
    }
}
