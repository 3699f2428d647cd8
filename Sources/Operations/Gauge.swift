import Synchronization

/// A value that goes up and down. It is atomic, so any thread may set it at any rate.
public final class Gauge: Metric {
    private let bits = Atomic<UInt64>(0)

    public init() {}

    public var value: Double { Double(bitPattern: bits.load(ordering: .relaxed)) }

    public func set(_ value: Double) { bits.store(value.bitPattern, ordering: .relaxed) }

    public func set(_ value: Int) { set(Double(value)) }

    public func set(_ value: Bool) { set(value ? 1.0 : 0.0) }

    /// Adds `delta`, which may be negative. No concurrent addition is lost.
    public func add(_ delta: Double) {
        var old = bits.load(ordering: .relaxed)
        while true {
            let new = (Double(bitPattern: old) + delta).bitPattern
            let (exchanged, original) = bits.weakCompareExchange(expected: old, desired: new, ordering: .relaxed)
            if exchanged { return }
            old = original
        }
    }

    public func samples() -> [MetricSample] { [MetricSample(value: value)] }
}
