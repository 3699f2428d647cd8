import CLibPQ
import Foundation

/// libpq's asynchronous calls, each with a deadline of this process. With a blocking call, a frozen backend or a
/// network that drops all packets would block the thread for ever. A call polls only if the answer has not arrived yet,
/// as libpq itself does.
extension Connection {
    /// Returns the last result of the command that was just sent, like PQexec.
    func answer(to wasSent: Int32, within limit: Duration) throws(PostgresError) -> OpaquePointer? {
        guard wasSent == 1 else { throw error(nil) }
        let deadline = ContinuousClock.now + limit
        try flush(until: deadline)
        var last: OpaquePointer?
        while true {
            do throws(PostgresError) {
                guard try awaitResult(until: deadline) else {
                    // The connection is lost. A result that arrived before the loss gives the reason, so the result
                    // takes precedence.
                    guard let last else { throw error(nil) }
                    return last
                }
            } catch {
                PQclear(last)
                throw error
            }
            guard let result = PQgetResult(handle) else { return last }
            PQclear(last)
            last = result
            switch PQresultStatus(result) {
            case PGRES_COPY_IN, PGRES_COPY_OUT, PGRES_COPY_BOTH: return last
            default: break
            }
        }
    }

    /// Runs `send` in libpq's pipeline mode and waits for one synchronization. Returns the results in order, up to the
    /// first error.
    func pipelined(_ send: () -> Bool) throws(PostgresError) -> [OpaquePointer] {
        guard PQenterPipelineMode(handle) == 1 else {
            spend()
            throw error(nil)
        }
        guard send(), PQpipelineSync(handle) == 1 else {
            // Some of the statements may still be in libpq's buffer, so the connection cannot be used again.
            spend()
            throw error(nil)
        }
        let deadline = ContinuousClock.now + answerLimit
        var kept: [OpaquePointer] = []
        var nothings = 0
        do throws(PostgresError) {
            try flush(until: deadline)
            while try awaitResult(until: deadline) {
                guard let result = PQgetResult(handle) else {
                    // One nil separates the results of two statements, and two nils mean that no result is left. If the
                    // connection is lost, the server's last error may also follow a nil.
                    nothings += 1
                    if nothings == 2 { break }
                    continue
                }
                nothings = 0
                switch PQresultStatus(result) {
                case PGRES_PIPELINE_SYNC:
                    PQclear(result)
                    if PQexitPipelineMode(handle) != 1 { spend() }
                    return kept
                case PGRES_PIPELINE_ABORTED: PQclear(result)
                default: kept.append(result)
                }
            }
        } catch {
            for result in kept { PQclear(result) }
            throw error
        }
        // The connection is lost. A server error that arrived before the loss gives the reason, so the error takes
        // precedence.
        guard let last = kept.last, PQresultStatus(last) == PGRES_FATAL_ERROR else {
            for result in kept { PQclear(result) }
            throw error(nil)
        }
        return kept
    }

    /// Waits until PQgetResult does not block. Returns false if the connection is lost.
    private func awaitResult(until deadline: ContinuousClock.Instant) throws(PostgresError) -> Bool {
        while PQisBusy(handle) == 1 {
            guard PQstatus(handle) == CONNECTION_OK else { return false }
            try wait(for: POLLIN, until: deadline)
            // After a loss, a result that arrived before the loss is still read, because the result gives the reason.
            guard consume() else { return PQisBusy(handle) == 0 }
        }
        return true
    }

    /// Sends the bytes in libpq's buffer.
    func flush(until deadline: ContinuousClock.Instant) throws(PostgresError) {
        while true {
            let state = PQflush(handle)
            if state == 0 { return }
            guard state == 1 else { throw error(nil) }
            // The server may stop reading until this process reads the server's answers.
            try wait(for: POLLIN | POLLOUT, until: deadline)
            guard consume() else { throw error(nil) }
        }
    }

    /// Reads the bytes that have arrived, without waiting. Returns false if the connection is lost.
    private func consume() -> Bool {
        guard PQconsumeInput(handle) == 1 else { return false }
        // TLS decrypts whole records. If libpq's buffer has no space for a whole record, the record's rest is not in
        // the socket any more, and `poll` would wait for bytes that have already arrived.
        let isWrapped = PQsslInUse(handle) == 1 || PQgssEncInUse(handle) == 1
        return !isWrapped || PQconsumeInput(handle) == 1
    }

    private func wait(for events: Int32, until deadline: ContinuousClock.Instant) throws(PostgresError) {
        var deadline = deadline
        while true {
            switch Self.pollSocket(PQsocket(handle), events, interrupt, until: deadline) {
            case .ready: return
            case .interrupted: throw Self.interrupted
            case .late:
                // The pool has already left as many hanging sessions behind as it may. So this session waits on.
                guard mayBeLeft() else {
                    deadline = .now + Self.look
                    continue
                }
                throw PostgresError(
                    sqlState: nil, message: "no answer from PostgreSQL: its session hangs", kind: .connection,
                    isHung: true)
            }
        }
    }

    /// The time between two attempts to leave a hanging session behind.
    private static let look = Duration.seconds(1)

    static let interrupted = PostgresError(
        sqlState: nil, message: "given up: the program is stopping", kind: .connection)

    enum Wait {
        case ready, late, interrupted
    }

    static func pollSocket(
        _ socket: Int32, _ events: Int32, _ interrupt: Interrupt, until deadline: ContinuousClock.Instant
    ) -> Wait {
        while true {
            let left = deadline - .now
            guard left > .zero else { return .late }
            // libpq has closed the socket, and knows why.
            guard socket >= 0 else { return .ready }
            let milliseconds =
                min(left.components.seconds, 3_600) * 1000 + left.components.attoseconds / 1_000_000_000_000_000
            var descriptors = (
                pollfd(fd: socket, events: Int16(events), revents: 0),
                pollfd(fd: interrupt.descriptor, events: Int16(POLLIN), revents: 0)
            )
            let count = withUnsafeMutablePointer(to: &descriptors) { pointer in
                pointer.withMemoryRebound(to: pollfd.self, capacity: 2) {
                    poll($0, 2, Int32(truncatingIfNeeded: milliseconds + 1))
                }
            }
            if descriptors.1.revents != 0 { return .interrupted }
            // An error of the socket counts as ready: libpq then finds the error.
            if count > 0 || count < 0 && errno != EINTR { return .ready }
        }
    }
}
