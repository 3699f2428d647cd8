import Synchronization

/// The addresses of Apple that do not answer, with a sentence for each. `receiptd_apple_no_answer` counts them.
public final class AppleOutages: Sendable {
    private let gauge: Gauge
    private let sentences = Mutex<[String]>([])

    init(gauge: Gauge) {
        self.gauge = gauge
        gauge.set(0)
    }

    public func set(_ outages: [String]) {
        sentences.withLock { sentences in
            sentences = outages
            gauge.set(outages.count)
        }
    }

    public var all: [String] { sentences.withLock { $0 } }
}
