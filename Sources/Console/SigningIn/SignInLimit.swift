import Synchronization

/// Slows down the guessing of passwords. The answer to a wrong password comes late. Each further wrong password makes
/// the delay longer. Only a few tries may wait at once. Each known browser has its own count, so that wrong passwords
/// from elsewhere do not keep the browser's user out.
final class SignInLimit: Sendable {
    /// The seconds until the answer to the first wrong password. Each further wrong password of the same origin (a
    /// typed name or a known browser) doubles the seconds.
    static let firstSeconds = 1.0
    static let longestSeconds = 16.0
    /// The seconds without a wrong password after which an origin's count begins again at 0.
    static let forgottenAfterSeconds = 900.0
    /// The most tries that may wait at once: of all browsers that are not known, of one origin, and of all known
    /// browsers. The first and the third limit leave 96 of the server's 256 connections free.
    static let maximumWaiting = 128
    static let maximumWaitingOfOne = 4
    static let maximumWaitingOfBrowsers = 32

    enum Origin: Hashable, Sendable {
        /// A code of the typed name, which may be no user's name. Several names may have the same code, which limits
        /// the memory.
        case name(UInt16)
        case browser(BrowserMark)

        var isBrowser: Bool { if case .browser = self { true } else { false } }
    }

    private struct Failures {
        var count = 0
        var waiting = 0
        var lastAt = 0.0
    }

    private let failures = Mutex<[Origin: Failures]>([:])

    /// Begins a try. Returns false if too many tries wait, so that the console does not check the password.
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

    /// Counts a wrong password. Returns the seconds from the start of the try to the answer.
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
    /// - Parameter isRight: true if the password was right, which sets the count to 0.
    func end(_ origin: Origin, isRight: Bool) {
        failures.withLock { all in
            all[origin]?.waiting -= 1
            if isRight { all[origin]?.count = 0 }
        }
    }
}
