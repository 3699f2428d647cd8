import Fulfillment
import NamesAndTimes
import Postgres
import Synchronization

/// Notices, before anything is decided there, that the database lost what this process had committed, or that another
/// database answers. A database that falls back to an earlier state ends all its connections, so the watch looks at
/// each new one.
public final class FallBackWatch: Sendable {
    struct FellBack: Error {
        /// The history of the database that answers now. Nil if it was not read.
        let history: DatabaseHistory?
    }

    /// The row that the process committed last: a database that did not fall back has it.
    enum Evidence: Sendable {
        case outcome(OutcomeKey)
        case notice(Identifier)
    }

    private struct State {
        /// The last evidence, and when it was committed.
        var last: (evidence: Evidence, at: ContinuousClock.Instant)?
        /// The life of the database that the process decided in; nil: none is known.
        var life: Substring?
        var isOpen = true
        var count = 0
        var tell: @Sendable () -> Void = {}
    }

    /// Rows of decisions go after some days, and with an erased player: what is older proves nothing.
    private static let memory = Duration.seconds(86_400)
    private static let findingNotice = LedgerSQL.statement(PackageResources.find_notifications_sql)

    private let state = Mutex(State())

    /// False from a fall back until `reopen`. Nothing may be decided meanwhile.
    var isOpen: Bool { state.withLock { $0.isOpen } }

    /// The number of fall backs so far.
    var count: Int { state.withLock { $0.count } }

    /// `tell` is called at each fall back, once.
    func watch(_ tell: @escaping @Sendable () -> Void) { state.withLock { $0.tell = tell } }

    /// Looks at a new connection's database. Throws `error` where it lacks what was committed, where it is another one, and until
    /// the losses are known.
    func vouch(for session: PostgresSession) throws(PostgresError) {
        guard isOpen else { throw Self.error }
        do {
            let history = try DatabaseHistory.read(in: session)
            guard !isOfOtherLife(history), try hasLast(in: session) else { throw FellBack(history: history) }
            state.withLock { $0.life = $0.life ?? history.life }
        } catch let fall as FellBack {
            fellBack(fall)
            throw Self.error
        } catch {
            throw PostgresError(caught: error)
        }
    }

    private func hasLast(in session: PostgresSession) throws -> Bool {
        let last = state.withLock { state in
            state.last.flatMap { ContinuousClock.now - $0.at < Self.memory ? $0.evidence : nil }
        }
        switch last {
        case nil: return true
        case .outcome(let key):
            let found = try FindOutcomes.run([key], in: session)
            return !found.events.isEmpty || !found.withoutGrants.isEmpty
        case .notice(let id): return try session.execute(Self.findingNotice, [.identifiers([id])]).count > 0
        }
    }

    /// Another life may lack what other workers decided: a promoted replica, or a dump that was restored.
    /// - Parameter history: nil where nothing was written.
    func isOfOtherLife(_ history: DatabaseHistory?) -> Bool {
        guard let history, let known = state.withLock({ $0.life }) else { return false }
        return history.life != known
    }

    func committed(_ evidence: Evidence, in history: DatabaseHistory?) {
        state.withLock { state in
            // A commit that a fall overtook proves nothing of the state that answers now.
            guard state.isOpen else { return }
            state.last = (evidence, .now)
            if let history { state.life = history.life }
        }
    }

    func fellBack(_ fall: FellBack) {
        let tell = state.withLock { state -> @Sendable () -> Void in
            guard state.isOpen else { return {} }
            state.isOpen = false
            state.life = fall.history?.life ?? state.life
            state.count += 1
            return state.tell
        }
        tell()
    }

    /// Decisions go on: the losses of the fall backs up to this one are known. A takeover without a fall calls it too, and changes
    /// nothing: the next fall is noticed by what is known of the database.
    func reopen(after count: Int) {
        state.withLock { state in
            if state.count == count, !state.isOpen { (state.last, state.isOpen) = (nil, true) }
        }
    }

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
