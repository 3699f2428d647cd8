import Fulfillment
import Postgres
import Synchronization

/// Notices that the database lost a decision which it had committed, or that another database answers, before anything is decided there.
/// A database falls back to an earlier state only with the end of all its connections.
final class FallBackWatch: Sendable {
    struct FellBack: Error {}

    private struct State {
        /// The last decision that was committed, and when.
        var last: (key: OutcomeKey, at: ContinuousClock.Instant)?
        /// The life of the database that the last decision was committed in.
        var life: Substring?
        var isOpen = true
        var tell: @Sendable () -> Void = {}
    }

    /// Rows of decisions go after some days, and with an erased player: what is older proves nothing.
    private static let memory = Duration.seconds(86_400)

    private let state = Mutex(State())

    /// False from a fall back on until `reopen`: nothing may be decided.
    var isOpen: Bool { state.withLock { $0.isOpen } }
    var last: OutcomeKey? {
        state.withLock { state in state.last.flatMap { ContinuousClock.now - $0.at < Self.memory ? $0.key : nil } }
    }

    /// `tell` is called at each fall back, once.
    func watch(_ tell: @escaping @Sendable () -> Void) { state.withLock { $0.tell = tell } }

    /// Another life may lack what other workers decided: a promoted replica, or a dump that was restored.
    /// - Parameter history: nil where nothing was written.
    func isOfOtherLife(_ history: DatabaseHistory?) -> Bool {
        guard let history, let known = state.withLock({ $0.life }) else { return false }
        return history.life != known
    }

    /// Within a transaction: looks for `last` where the session has a new connection. Throws `FellBack` where it is gone, and a `PostgresError`.
    static func check(_ last: OutcomeKey?, in session: PostgresSession) throws {
        guard !session.isVouchedFor else { return }
        if let last {
            let found = try FindOutcomes.run([last], in: session)
            guard !found.events.isEmpty || !found.withoutGrants.isEmpty else { throw FellBack() }
        }
        session.isVouchedFor = true
    }

    func committed(_ key: OutcomeKey, in history: DatabaseHistory?) {
        state.withLock { state in
            state.last = (key, .now)
            if let history { state.life = history.life }
        }
    }

    func fellBack() {
        let tell = state.withLock { state in
            defer { state.isOpen = false }
            return state.isOpen ? state.tell : {}
        }
        tell()
    }

    /// Decisions go on: the losses are known.
    func reopen() { state.withLock { ($0.last, $0.life, $0.isOpen) = (nil, nil, true) } }

    static let error = PostgresError(
        sqlState: nil,
        message:
            "the database fell back to an earlier state, or another one answers: what it lacks is looked for first",
        kind: .connection)
}

extension DatabaseHistory {
    /// The timeline and the database, without the server's start, which loses nothing.
    fileprivate var life: Substring { text[..<(text.lastIndex(of: "/") ?? text.endIndex)] }
}
