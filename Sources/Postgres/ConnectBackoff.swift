import Synchronization

/// The time from which a refusing server may be tried again. The delay is 0.1 s after the first failure, and doubles
/// with each further one, up to 5 s. Up to half of each delay is taken off at random.
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

    /// Notes a failed attempt. `jitter` is in 0..<1. Attempts of several sessions at one time count once.
    mutating func failed(at now: ContinuousClock.Instant, jitter: Double) {
        guard permits(at: now) else { return }
        failures = min(failures + 1, 16)
        let delay = min(Self.longest, Self.shortest << (failures - 1))
        notBefore = now + .milliseconds(Int(Double(delay) * (1 - jitter / 2)))
    }
}

/// The backoff that a pool's sessions share. One success of any session ends it for all.
final class ConnectGate: Sendable {
    private struct State {
        var backoff = ConnectBackoff()
        var failure: PostgresError?
    }

    private let state = Mutex(State())

    /// The error of the last attempt, while no session may try; nil if a session may.
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
