import Fulfillment
import NamesAndTimes
import PlantedFaults
import Postgres
import Synchronization

/// Notices, before the ledger decides, that the database lost commits of this process, or that another database
/// answers. A database that falls back to an earlier state ends all its connections first. So it is enough to check
/// each new connection.
public final class FallBackWatch: Sendable {
    struct FellBack: Error {
        /// The history of the database that answers now; nil if it was not read.
        let history: DatabaseHistory?
    }

    /// The last row that this process committed. A database that did not fall back has it.
    enum Evidence: Sendable {
        case outcome(OutcomeKey)
        case notice(Identifier)
    }

    private struct State {
        /// The last evidence, and when it was committed.
        var last: (evidence: Evidence, at: ContinuousClock.Instant)?
        /// The timeline and database in which the process decided; nil if unknown.
        var life: Substring?
        var isOpen = true
        var count = 0
        var tell: @Sendable () -> Void = {}
    }

    /// The age at which the watch no longer looks for the last commit's row. receiptd itself deletes such rows after
    /// some days.
    private static let memory = Duration.seconds(86_400)
    private static let findingNotice = LedgerSQL.statement(PackageResources.find_notifications_sql)

    private let state = Mutex(State())

    /// False from a fall back until `reopen`. The ledger decides nothing meanwhile.
    var isOpen: Bool { state.withLock { $0.isOpen } }

    /// The number of fall backs that this process noticed.
    var count: Int { state.withLock { $0.count } }

    /// Sets the function that is called once for each fall back.
    func watch(_ tell: @escaping @Sendable () -> Void) { state.withLock { $0.tell = tell } }

    /// Checks the database of a new connection. Throws `error` if the database lacks the last commit, or if another
    /// database answers. Also throws until the losses are known.
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
        if PlantedFault.earlierHistoryCounts.isPlanted { return true }
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

    /// Returns whether the history has another timeline or database than the known one, as with a promoted standby or a
    /// restored dump. Such a database may lack decisions of other workers.
    /// - Parameter history: the history in which the transaction wrote; nil if the transaction wrote nothing.
    func isOfOtherLife(_ history: DatabaseHistory?) -> Bool {
        guard let history, let known = state.withLock({ $0.life }) else { return false }
        return history.life != known
    }

    func committed(_ evidence: Evidence, in history: DatabaseHistory?) {
        state.withLock { state in
            // A commit from before a fall back proves nothing about the present database.
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

    /// Allows decisions again, because the losses of the first `count` fall backs are known. Does nothing if the
    /// database fell back again since. Also does nothing if there was no fall back: `last` must stay, because it shows
    /// the next fall back.
    func reopen(after count: Int) {
        state.withLock { state in
            if state.count == count, !state.isOpen { (state.last, state.isOpen) = (nil, true) }
        }
    }

    static let error = PostgresError(
        sqlState: nil,
        message:
            """
            PostgreSQL fell back to an earlier state, or another database answers: the worker first finds out what the \
            database lost
            """,
        kind: .connection)
}

extension DatabaseHistory {
    /// The timeline and the database, without the server's start: a restart loses nothing.
    fileprivate var life: Substring { text[..<(text.lastIndex(of: "/") ?? text.endIndex)] }
}
