import Synchronization

/// Keeps guessing slow: each wrong password is answered late, and later after each one more, and only a few are waited for
/// at once.
final class SignInLimit: Sendable {
    /// Before the answer to a first wrong one; doubled by each further one for the same name.
    static let firstSeconds = 1.0
    static let longestSeconds = 16.0
    /// Without a wrong one, after which a name begins anew.
    static let forgottenAfterSeconds = 900.0
    /// Tries that wait at once, of all names and of one.
    static let maximumWaiting = 32
    static let maximumWaitingOfName = 4
    /// Names that are remembered; beyond that all share one.
    static let maximumNames = 1_000

    private struct Failures {
        var count = 0
        var waiting = 0
        var lastAt = 0.0
    }

    private struct State {
        var names: [String: Failures] = [:]
        var waiting = 0
    }

    private let state = Mutex(State())

    /// False: too many are tried at once, and this one is not looked at.
    func begin(_ name: String, now: Double) -> Bool {
        state.withLock { state in
            state.names = state.names.filter {
                $0.value.waiting > 0 || now - $0.value.lastAt < Self.forgottenAfterSeconds
            }
            let name = Self.key(name, state)
            var failures = state.names[name] ?? Failures()
            guard state.waiting < Self.maximumWaiting, failures.waiting < Self.maximumWaitingOfName else {
                return false
            }
            state.waiting += 1
            failures.waiting += 1
            failures.lastAt = now
            state.names[name] = failures
            return true
        }
    }

    /// For how long a wrong one is to wait. Seconds.
    func failed(_ name: String, now: Double) -> Double {
        state.withLock { state in
            let name = Self.key(name, state)
            var failures = state.names[name] ?? Failures()
            failures.count += 1
            failures.lastAt = now
            state.names[name] = failures
            var seconds = Self.firstSeconds
            for _ in 1..<max(failures.count, 1) where seconds < Self.longestSeconds { seconds *= 2 }
            return seconds
        }
    }

    /// - Parameter isRight: the name begins anew.
    func end(_ name: String, isRight: Bool) {
        state.withLock { state in
            let name = Self.key(name, state)
            state.waiting -= 1
            state.names[name]?.waiting -= 1
            if isRight { state.names[name]?.count = 0 }
        }
    }

    private static func key(_ name: String, _ state: State) -> String {
        let short = String(name.prefix(64))
        return state.names[short] != nil || state.names.count < maximumNames ? short : "\n"
    }
}
