import Crypto
import Foundation
import NamesAndTimes
import ReceiptdConfiguration
import Synchronization

/// The sessions of signed-in users. They are in memory, so a restart of the console signs all users out.
final class Sessions: Sendable {
    static let seconds = 12 * 3600.0
    /// The most sessions at once. A further session ends the oldest session.
    static let maximum = 1_000

    struct Session: Sendable {
        let id: String
        let user: ConsoleUser
        /// The token in each form of the session, which a page of another site cannot know.
        let token: String
        /// The number of the session on the page of sessions. It is not secret.
        let number: Int
        let beganAt: Timestamp
        /// The end of the session in monotonic seconds.
        fileprivate let endsAt: Double

        /// Returns true if `given` is the token. Comparing SHA-256 digests takes constant time.
        func takes(_ given: String) -> Bool {
            SHA256.hash(data: Data(given.utf8)) == SHA256.hash(data: Data(token.utf8))
        }
    }

    private let sessions = Mutex<[String: Session]>([:])
    private let lastNumber = Atomic(0)

    func start(_ user: ConsoleUser, now: Double) -> Session {
        let number = lastNumber.add(1, ordering: .relaxed).newValue
        let session = Session(
            id: Self.secret(), user: user, token: Self.secret(), number: number, beganAt: WallClock.now,
            endsAt: now + Self.seconds)
        sessions.withLock { sessions in
            sessions = sessions.filter { $0.value.endsAt > now }
            if sessions.count >= Self.maximum, let oldest = sessions.values.min(by: { $0.endsAt < $1.endsAt }) {
                sessions[oldest.id] = nil
            }
            sessions[session.id] = session
        }
        return session
    }

    func find(_ id: String?, now: Double) -> Session? {
        guard let id else { return nil }
        return sessions.withLock { sessions in
            guard let session = sessions[id] else { return nil }
            if session.endsAt > now { return session }
            sessions[id] = nil
            return nil
        }
    }

    func end(_ id: String) {
        sessions.withLock { $0[id] = nil }
    }

    /// Returns the users' sessions, the newest first.
    func all(now: Double) -> [Session] {
        sessions.withLock { Array($0.values) }.filter { $0.endsAt > now && $0.user.name != nil }
            .sorted { $0.number > $1.number }
    }

    /// Ends and returns a session; nil if the session has ended before.
    func end(number: Int) -> Session? {
        sessions.withLock { sessions in
            guard let session = sessions.values.first(where: { $0.number == number }) else { return nil }
            sessions[session.id] = nil
            return session
        }
    }

    /// Returns 256 random bits in hexadecimal.
    static func secret() -> String {
        SymmetricKey(size: .bits256).withUnsafeBytes { bytes in
            let digits = Array("0123456789abcdef")
            return String(bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
        }
    }
}

/// A user of the console, and whether the user may change something.
struct ConsoleUser: Sendable, Equatable {
    /// The name of the user; nil for a visitor of a console without users.
    let name: String?
    let mayChange: Bool
}
