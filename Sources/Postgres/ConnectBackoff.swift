import Synchronization

/// Delays connections to a server after a failed attempt. The delay is 0.1 s after the first failure, and doubles with
/// each further failure, up to 5 s. Each delay is shortened at random, by up to half.
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

    /// Notes a failed attempt. `jitter` is in 0..<1. A failure during the delay does not count, because several
    /// sessions may fail at one time.
    mutating func failed(at now: ContinuousClock.Instant, jitter: Double) {
        guard permits(at: now) else { return }
        failures = min(failures + 1, 16)
        let delay = min(Self.longest, Self.shortest << (failures - 1))
        notBefore = now + .milliseconds(Int(Double(delay) * (1 - jitter / 2)))
    }
}

/// The backoff that a pool's sessions share. The success of any session ends the delay for all sessions.
final class ConnectGate: Sendable {
    private struct State {
        var backoff = ConnectBackoff()
        var failure: PostgresError?
    }

    private let state = Mutex(State())

    /// The error of the last attempt while the delay lasts; nil if a session may connect.
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
