import Synchronization

/// Slows guessing down. Each wrong password is answered late, and later with each further one; only a few tries wait at
/// once. A known browser counts by itself, so that a guesser elsewhere cannot keep its user out.
final class SignInLimit: Sendable {
    /// The seconds before the answer to a first wrong try. Each further wrong try of the same origin doubles the
    /// seconds.
    static let firstSeconds = 1.0
    static let longestSeconds = 16.0
    /// The seconds without a wrong try after which counting begins anew.
    static let forgottenAfterSeconds = 900.0
    /// The most tries that wait at once: of strangers together, of one origin, and of known browsers together. They
    /// leave 96 of the server's 256 connections free.
    static let maximumWaiting = 128
    static let maximumWaitingOfOne = 4
    static let maximumWaitingOfBrowsers = 32

    /// The origin whose tries count together.
    enum Origin: Hashable, Sendable {
        /// A code of the typed name, whether a user has the name or not. Some names share a code, which bounds the
        /// memory.
        case name(UInt16)
        /// A browser in which the user signed in before.
        case browser(BrowserMark)

        var isBrowser: Bool { if case .browser = self { true } else { false } }
    }

    private struct Failures {
        var count = 0
        var waiting = 0
        var lastAt = 0.0
    }

    private let failures = Mutex<[Origin: Failures]>([:])

    /// Returns false if too many tries wait. The console then leaves the password unchecked.
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

    /// Counts a wrong try. Returns the seconds from the try's beginning to its answer.
    func failed(_ origin: Origin, now: Double) -> Double {
        failures.withLock { all in
            all[origin, default: Failures()].count += 1
            all[origin]?.lastAt = now
            var seconds = Self.firstSeconds
            for _ in 1..<max(all[origin]?.count ?? 1, 1) where seconds < Self.longestSeconds { seconds *= 2 }
            return seconds
        }
    }

    /// Ends a try that `begin` admitted.
    /// - Parameter isRight: whether the password was right, which sets the count to zero.
    func end(_ origin: Origin, isRight: Bool) {
        failures.withLock { all in
            all[origin]?.waiting -= 1
            if isRight { all[origin]?.count = 0 }
        }
    }
}
