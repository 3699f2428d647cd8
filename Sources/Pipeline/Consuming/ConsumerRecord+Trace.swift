import Fulfillment
import Kafka

extension ConsumerRecord {
    /// W3C trace context as received, nil where there is none or it is no header to carry on.
    var traceparent: String? {
        guard !headers.isEmpty, let value = headers.last(where: { $0.name == "traceparent" })?.value,
            TraceParent.isSound(value)
        else { return nil }
        return String(decoding: value, as: UTF8.self)
    }
}
