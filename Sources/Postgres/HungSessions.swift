import CLibPQ
import Foundation
import Synchronization

/// A session of PostgreSQL that gave no answer in time, and was left behind.
public struct HungSession: Sendable {
    /// The number of the pool's sessions that are left behind now, this one included.
    public let count: Int
    public let maximum: Int
    /// Whether the session was committing: nobody knows the outcome before it is looked up.
    public let wasCommitting: Bool
    /// The session's process id at the server, for `pg_terminate_backend`.
    public let processID: Int32

    /// Whether the pool now leaves no further session behind, and waits for them however long that takes.
    public var isLast: Bool { count == maximum }
}

/// A pool's connections whose answer never came. They stay open until PostgreSQL has ended what they began, or the
/// connection is lost, so that it is known how many there are: a frozen backend, or a COMMIT that waits for an absent
/// synchronous standby and has no time-out on the server, would otherwise take a new session with every try.
final class HungSessions: Sendable {
    static let maximum = 8
    /// Threads that ask PostgreSQL to cancel, of the whole process. libpq's call has no time-out of its own.
    private static let maximumCancelling = 4
    private static let cancelling = Atomic(0)

    /// `@unchecked Sendable` is sound: whoever holds the lock below is the only one to use it.
    private struct Left: @unchecked Sendable {
        let handle: OpaquePointer
    }

    private struct State {
        var left: [Left] = []
        /// Places for those that are about to be.
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

    /// Closes those that have ended.
    func look() {
        guard isAny.load(ordering: .relaxed) else { return }
        state.withLock { closeEnded(&$0) }
    }

    private func closeEnded(_ state: inout State) {
        state.left.removeAll(where: Self.hasEnded)
        isAny.store(!state.left.isEmpty, ordering: .relaxed)
    }

    /// Takes a connection over, in the place reserved for it, that its thread has given up.
    func leave(_ connection: Connection, wasCommitting: Bool) {
        let processID = PQbackendPID(connection.handle)
        // Never a COMMIT: one that is cancelled while it waits for its standby is done, and not where it should be.
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

    /// The answer came, or never will. Closing the connection rolls back what was not committed.
    private static func hasEnded(_ one: Left) -> Bool {
        var descriptor = pollfd(fd: PQsocket(one.handle), events: Int16(POLLIN), revents: 0)
        guard poll(&descriptor, 1, 0) != 0 else { return false }
        let isLost = PQconsumeInput(one.handle) == 0 || PQstatus(one.handle) != CONNECTION_OK
        guard isLost || PQisBusy(one.handle) == 0 else { return false }
        PQfinish(one.handle)
        return true
    }

    /// Cancels in the background, as well as it goes.
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
