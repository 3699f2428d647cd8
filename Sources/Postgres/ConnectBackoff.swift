import Synchronization

/// The time from which a server that refuses may be tried again: 0.1 s after the first failure, twice that after each
/// more, 5 s at most, each less up to half at random.
struct ConnectBackoff {
    private var failures = 0
    private var notBefore: ContinuousClock.Instant?

    /// Milliseconds.
    private static let shortest = 100
    private static let longest = 5000

    func permits(at now: ContinuousClock.Instant) -> Bool { notBefore.map { now >= $0 } ?? true }

    mutating func succeeded() {
        failures = 0
        notBefore = nil
    }

    /// `jitter` is in 0..<1. Attempts of several sessions that ran at one time count once.
    mutating func failed(at now: ContinuousClock.Instant, jitter: Double) {
        guard permits(at: now) else { return }
        failures = min(failures + 1, 16)
        let delay = min(Self.longest, Self.shortest << (failures - 1))
        notBefore = now + .milliseconds(Int(Double(delay) * (1 - jitter / 2)))
    }
}

/// The backoff a pool's sessions share: one success opens it for all.
final class ConnectGate: Sendable {
    private struct State {
        var backoff = ConnectBackoff()
        var failure: PostgresError?
    }

    private let state = Mutex(State())

    /// The reason why nobody may try now: the error of the last attempt; nil if one may.
    var refusal: PostgresError? {
        state.withLock { state in
            if state.backoff.permits(at: .now) { return nil }
            return state.failure?.repeated
                ?? PostgresError(sqlState: nil, message: "not connected", kind: .connection, isRepeated: true)
        }
    }

    func succeeded() {
        state.withLock { state in
            state.backoff.succeeded()
            state.failure = nil
        }
    }

    func failed(_ error: PostgresError) {
        state.withLock { state in
            state.backoff.failed(at: .now, jitter: Double.random(in: 0..<1))
            state.failure = error
        }
    }
}
