import Synchronization

/// The sentences about Apple's addresses that do not answer, one sentence for each address. `receiptd_apple_no_answer`
/// is the number of these addresses.
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
