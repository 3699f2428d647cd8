import Synchronization

/// The average time of Apple's last dozens of answers. The worker bounds the ledger's gathering delay by a share of it.
package final class AppleLatency: Sendable {
    private static let weight = 1.0 / 32

    private let bits = Atomic<UInt64>(0)

    package init() {}

    /// The average in seconds; 0 before the first answer.
    package var seconds: Double { Double(bitPattern: bits.load(ordering: .relaxed)) }

    /// Adds an answer's time to the average. Two calls at the same time may count as one.
    package func observe(_ seconds: Double) {
        let before = self.seconds
        let next = before == 0 ? seconds : before + (seconds - before) * Self.weight
        bits.store(next.bitPattern, ordering: .relaxed)
    }
}
