import CLibPQ
import Foundation
import Synchronization

/// A session of PostgreSQL that gave no answer in time, and was left behind.
public struct HungSession: Sendable {
    /// The number of the pool's sessions that are left behind now, this one included.
    public let count: Int
    public let maximum: Int
    /// True if the session was committing. Nobody knows the outcome before somebody looks it up.
    public let wasCommitting: Bool
    /// The session's process id at the server, for `pg_terminate_backend`.
    public let processID: Int32

    /// True if the pool now leaves no further session behind, and waits for each however long that takes.
    public var isLast: Bool { count == maximum }
}

/// A pool's connections whose answer never came. They stay open until PostgreSQL has ended their work or the connection
/// is lost, so that the pool can count them.
///
/// Without a count each try would take a new session from a frozen backend, or from a COMMIT that waits for an absent
/// synchronous standby. Such a COMMIT has no time-out on the server.
final class HungSessions: Sendable {
    static let maximum = 8
    /// The most threads of the process that ask PostgreSQL to cancel. libpq's call has no time-out of its own.
    private static let maximumCancelling = 4
    private static let cancelling = Atomic(0)

    /// `@unchecked Sendable` is sound: only the holder of the lock below uses the handle.
    private struct Left: @unchecked Sendable {
        let handle: OpaquePointer
    }

    private struct State {
        var left: [Left] = []
        /// The places that are reserved for connections about to be left.
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

    /// Reserves a place for one more session to be left behind, to be used or released. Returns false if there is none.
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

    /// Takes over a connection that its thread has given up, in the place reserved for it.
    func leave(_ connection: Connection, wasCommitting: Bool) {
        let processID = PQbackendPID(connection.handle)
        // A COMMIT is never cancelled: cancelled while it waits for its standby, it is done here and not there.
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

    /// Closes the connection if its answer came or never will. The close rolls back all that was not committed.
    private static func hasEnded(_ one: Left) -> Bool {
        var descriptor = pollfd(fd: PQsocket(one.handle), events: Int16(POLLIN), revents: 0)
        guard poll(&descriptor, 1, 0) != 0 else { return false }
        let isLost = PQconsumeInput(one.handle) == 0 || PQstatus(one.handle) != CONNECTION_OK
        guard isLost || PQisBusy(one.handle) == 0 else { return false }
        PQfinish(one.handle)
        return true
    }

    /// Asks PostgreSQL to cancel, in the background. It does nothing if too many threads do so already.
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
