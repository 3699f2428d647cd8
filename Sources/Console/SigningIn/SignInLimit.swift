import Synchronization

/// Keeps guessing slow: each wrong password is answered late, and later after each one more, and only a few are waited for
/// at once. A browser that a user signed in with before is counted by itself: who guesses from elsewhere keeps nobody out
/// of it.
final class SignInLimit: Sendable {
    /// The seconds before the answer to a first wrong try. Each further wrong one of the same kind doubles them.
    static let firstSeconds = 1.0
    static let longestSeconds = 16.0
    /// The seconds without a wrong try after which counting begins anew.
    static let forgottenAfterSeconds = 900.0
    /// Tries that wait at once: of all but known browsers, of one name or browser, and of known browsers. Half of the
    /// server's connections are left.
    static let maximumWaiting = 128
    static let maximumWaitingOfOne = 4
    static let maximumWaitingOfBrowsers = 32

    /// The origin whose tries count together.
    enum Origin: Hashable, Sendable {
        /// A code of the name, whether a user has it or not. Some names share one: the memory is bounded.
        case name(UInt16)
        /// One that the user has signed in with before.
        case browser(BrowserMark)

        var isBrowser: Bool { if case .browser = self { true } else { false } }
    }

    private struct Failures {
        var count = 0
        var waiting = 0
        var lastAt = 0.0
    }

    private let failures = Mutex<[Origin: Failures]>([:])

    /// Returns false if too many are tried at once. This one is then not checked.
    func begin(_ origin: Origin, now: Double) -> Bool {
        failures.withLock { all in
            all = all.filter { $0.value.waiting > 0 || now - $0.value.lastAt < Self.forgottenAfterSeconds }
            let waiting = all.reduce(0) { $0 + ($1.key.isBrowser == origin.isBrowser ? $1.value.waiting : 0) }
            let most = origin.isBrowser ? Self.maximumWaitingOfBrowsers : Self.maximumWaiting
            var own = all[origin] ?? Failures()
            guard waiting < most, own.waiting < Self.maximumWaitingOfOne else { return false }
            own.waiting += 1
            own.lastAt = now
            all[origin] = own
            return true
        }
    }

    /// Returns how long a wrong password is to wait. Seconds.
    func failed(_ origin: Origin, now: Double) -> Double {
        failures.withLock { all in
            all[origin, default: Failures()].count += 1
            all[origin]?.lastAt = now
            var seconds = Self.firstSeconds
            for _ in 1..<max(all[origin]?.count ?? 1, 1) where seconds < Self.longestSeconds { seconds *= 2 }
            return seconds
        }
    }

    /// - Parameter isRight: counting begins anew.
    func end(_ origin: Origin, isRight: Bool) {
        failures.withLock { all in
            all[origin]?.waiting -= 1
            if isRight { all[origin]?.count = 0 }
        }
    }
}
