import Fulfillment
import Kafka

extension ConsumerRecord {
    /// The W3C trace context as received; nil if there is none, or if it may not be passed on.
    var traceparent: String? {
        guard !headers.isEmpty, let value = headers.last(where: { $0.name == "traceparent" })?.value,
            TraceParent.isSound(value)
        else { return nil }
        return String(decoding: value, as: UTF8.self)
    }
}
