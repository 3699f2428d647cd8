import CLibPQ
import Foundation
import Synchronization

/// A session of PostgreSQL that did not answer in time, and that the pool left behind.
public struct HungSession: Sendable {
    /// The number of sessions that the pool has left behind, including this session.
    public let count: Int
    public let maximum: Int
    /// True if the session was committing. Whether it committed is unknown until a query finds out.
    public let wasCommitting: Bool
    /// The session's process id at the server, for `pg_terminate_backend`.
    public let processID: Int32

    /// True if the pool will leave no more sessions behind. It then waits for a hanging session however long that
    /// takes.
    public var isLast: Bool { count == maximum }
}

/// The connections that a pool left behind because PostgreSQL did not answer. A connection stays open until PostgreSQL
/// has ended its work or the connection is lost. So the pool can count these connections.
///
/// Without a limit, each retry would open a new session to a frozen backend. The same would happen if a COMMIT waits
/// for a missing synchronous standby, for which the server has no time-out.
final class HungSessions: Sendable {
    static let maximum = 8
    /// The most threads of the process that send cancel requests to PostgreSQL. libpq's call has no time-out of its
    /// own.
    private static let maximumCancelling = 4
    private static let cancelling = Atomic(0)

    /// `@unchecked Sendable` is sound: a thread uses the handle only while it has the lock of `state`.
    private struct Left: @unchecked Sendable {
        let handle: OpaquePointer
    }

    private struct State {
        var left: [Left] = []
        /// The number of places that are reserved for connections not left behind yet.
        var reserved = 0
    }

    private let state = Mutex(State())
    private let isAny = Atomic(false)
    private let tell: @Sendable (HungSession) -> Void

    init(tell: @escaping @Sendable (HungSession) -> Void) {
        self.tell = tell
    }

    deinit {
        for one in state.withLock({ $0.left }) { PQfinish(one.handle) }
    }

    /// Reserves a place for one more session. The caller must use or release the place. Returns false if no place is
    /// free.
    func reserve() -> Bool {
        state.withLock { state in
            closeEnded(&state)
            guard state.left.count + state.reserved < Self.maximum else { return false }
            state.reserved += 1
            return true
        }
    }

    func releasePlace() { state.withLock { $0.reserved -= 1 } }

    /// Closes the connections that have ended.
    func look() {
        guard isAny.load(ordering: .relaxed) else { return }
        state.withLock { closeEnded(&$0) }
    }

    private func closeEnded(_ state: inout State) {
        state.left.removeAll(where: Self.hasEnded)
        isAny.store(!state.left.isEmpty, ordering: .relaxed)
    }

    /// Adds a connection for which no thread waits any more. The connection takes the place that is reserved for it.
    func leave(_ connection: Connection, wasCommitting: Bool) {
        let processID = PQbackendPID(connection.handle)
        // Never cancel a COMMIT: if it is cancelled while it waits for its standby, the primary has committed and the
        // standby has not.
        if !wasCommitting { Self.cancel(connection.handle) }
        let handle = connection.release()
        let count = state.withLock { state in
            state.left.append(Left(handle: handle))
            state.reserved -= 1
            isAny.store(true, ordering: .relaxed)
            return state.left.count
        }
        tell(HungSession(count: count, maximum: Self.maximum, wasCommitting: wasCommitting, processID: processID))
    }

    /// Closes the connection if its answer arrived or the connection is lost. Closing rolls back an uncommitted
    /// transaction.
    private static func hasEnded(_ one: Left) -> Bool {
        var descriptor = pollfd(fd: PQsocket(one.handle), events: Int16(POLLIN), revents: 0)
        guard poll(&descriptor, 1, 0) != 0 else { return false }
        let isLost = PQconsumeInput(one.handle) == 0 || PQstatus(one.handle) != CONNECTION_OK
        guard isLost || PQisBusy(one.handle) == 0 else { return false }
        PQfinish(one.handle)
        return true
    }

    /// Sends a cancel request to PostgreSQL, in the background. Does nothing if too many threads are sending such
    /// requests.
    private static func cancel(_ handle: OpaquePointer) {
        guard cancelling.add(1, ordering: .relaxed).newValue <= maximumCancelling, let request = PQgetCancel(handle)
        else {
            cancelling.subtract(1, ordering: .relaxed)
            return
        }
        nonisolated(unsafe) let sent = request
        let thread = Thread {
            var words = [CChar](repeating: 0, count: 256)
            _ = PQcancel(sent, &words, Int32(words.count))
            PQfreeCancel(sent)
            cancelling.subtract(1, ordering: .relaxed)
        }
        thread.name = "postgres-cancel"
        thread.start()
    }
}
