import Synchronization

/// A count that only goes up, from 0 at the start of the process. It is atomic, so any thread may count at any rate.
public final class Counter: Metric {
    private let count = Atomic<Int>(0)

    public init() {}

    public var value: Int { count.load(ordering: .relaxed) }

    /// Adds `amount`, which must not be negative. If a counter goes down, Prometheus assumes a restart.
    public func increment(by amount: Int = 1) {
        precondition(amount >= 0, "a counter only goes up")
        count.wrappingAdd(amount, ordering: .relaxed)
    }

    public func samples() -> [MetricSample] { [MetricSample(value: Double(value))] }
}
