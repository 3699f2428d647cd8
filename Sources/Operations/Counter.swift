import Synchronization

/// A count that only goes up, from 0 at the start of the process. Lock-free: any thread, any rate.
public final class Counter: Metric {
    private let count = Atomic<Int>(0)

    public init() {}

    public var value: Int { count.load(ordering: .relaxed) }

    /// Adds `amount`, which is never negative: a counter that goes down reads as a restart.
    public func increment(by amount: Int = 1) {
        precondition(amount >= 0, "a counter only goes up")
        count.wrappingAdd(amount, ordering: .relaxed)
    }

    public func samples() -> [MetricSample] { [MetricSample(value: Double(value))] }
}
