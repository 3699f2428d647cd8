import Synchronization

/// The moving average of the time that Apple takes to answer. The ledger waits for a batch of decisions to grow, for
/// at most a fixed share of this average.
package final class AppleLatency: Sendable {
    private static let weight = 1.0 / 32

    private let bits = Atomic<UInt64>(0)

    package init() {}

    /// The average in seconds; 0 before the first answer.
    package var seconds: Double { Double(bitPattern: bits.load(ordering: .relaxed)) }

    /// Adds one answer's time to the average. Of two calls at the same time, one call may have no effect.
    package func observe(_ seconds: Double) {
        let before = self.seconds
        let next = before == 0 ? seconds : before + (seconds - before) * Self.weight
        bits.store(next.bitPattern, ordering: .relaxed)
    }
}
