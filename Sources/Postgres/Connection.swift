import CLibPQ
import Foundation

/// One libpq connection. Its calls block for a bounded time. Not Sendable: only its session's thread uses it.
final class Connection {
    let handle: OpaquePointer
    let interrupt: Interrupt
    let hung: HungSessions
    var answerLimit: Duration
    /// The time to wait for the answer to COMMIT. COMMIT waits for the disk, and for a synchronous standby. No time-out
    /// of the server ends this wait.
    var commitLimit: Duration
    private let server: ServerName
    /// True if the caller of `release` frees the handle.
    private var isReleased = false
    /// True if the connection has a place among the sessions that the pool leaves behind.
    private var hasPlace = false
    /// The texts that an error must not contain.
    private let secrets: [String]
    private struct Prepared {
        let name: String
        let types: [UInt32]
    }
    /// The statements that the server has prepared for this connection, by `PostgresStatement.name`.
    private var prepared: [String: Prepared] = [:]
    /// The number of prepared statements that the server can no longer run. It is a part of later statements' names.
    private var outdated = 0
    /// The earliest time at which the server may have planned a prepared statement.
    private var plansSince = ContinuousClock.now

    /// Connects to one server within `limit`.
    init(
        _ parameters: [String: String], within limit: Duration, interrupt: Interrupt, hung: HungSessions
    ) throws(PostgresError) {
        secrets = ["password", "sslpassword"].compactMap { parameters[$0] }
        server = ServerName(parameters)
        self.interrupt = interrupt
        self.hung = hung
        answerLimit = limit
        commitLimit = limit
        let keys = parameters.map { strdup($0.key) }
        let values = parameters.map { strdup($0.value) }
        defer { for string in keys + values { free(string) } }
        // libpq copies two arrays, each of which ends with NULL.
        let handle = PQconnectStartParams(
            keys.map { UnsafePointer($0) } + [nil], values.map { UnsafePointer($0) } + [nil], 0)
        guard let handle else {
            throw PostgresError(sqlState: nil, message: "out of memory", kind: .connection)
        }
        self.handle = handle
        // By default libpq writes notices to standard error.
        PQsetNoticeProcessor(handle, { _, _ in }, nil)
        // For a refused connection libpq gives only a text. Verbose errors add the SQLSTATE to the text.
        PQsetErrorVerbosity(handle, PQERRORS_VERBOSE)
        if let error = Self.drive(handle, within: limit, interrupt: interrupt) { throw error.at(server) }
        guard isAlive else { throw refusal() }
        // Sending must not block either.
        PQsetnonblocking(handle, 1)
    }

    deinit {
        if isReleased { return }
        if hasPlace { hung.releasePlace() }
        PQfinish(handle)
    }

    /// Reserves a place among the sessions that the pool leaves behind. Returns false if no place is free.
    func mayBeLeft() -> Bool {
        if !hasPlace { hasPlace = hung.reserve() }
        return hasPlace
    }

    /// Returns libpq's handle, which the caller must free. Do not use this object afterwards.
    func release() -> OpaquePointer {
        isReleased = true
        return handle
    }

    private func refusal() -> PostgresError {
        let refusal = Redaction.refusal(
            String(cString: PQerrorMessage(handle)), secrets: secrets, known: server.words)
        // libpq needs a password and has none. The server has sent no SQLSTATE at this point.
        let sqlState = refusal.sqlState ?? (PQconnectionNeedsPassword(handle) == 1 ? "28P01" : nil)
        return PostgresError(sqlState: sqlState, message: refusal.message, kind: .connection).at(server)
    }

    /// True if a command on the connection did not finish, so that the connection cannot be used again.
    private var isSpent = false

    func spend() { isSpent = true }

    var isAlive: Bool { !isSpent && !hasPlace && PQstatus(handle) == CONNECTION_OK }
    var isIdle: Bool { PQtransactionStatus(handle) == PQTRANS_IDLE }

    /// Returns whether the server ended the connection while it was idle. The end makes the socket readable. For a good
    /// connection this costs one `poll`.
    func endedWhileIdle() -> Bool {
        // A notice, a FATAL error and the end of the connection may each need a read.
        for _ in 0..<8 {
            guard isAlive else { return true }
            var descriptor = pollfd(fd: PQsocket(handle), events: Int16(POLLIN), revents: 0)
            guard poll(&descriptor, 1, 0) > 0 else { return false }
            if PQconsumeInput(handle) == 0 { return true }
            // PQisBusy parses the bytes that PQconsumeInput read.
            _ = PQisBusy(handle)
        }
        return !isAlive
    }

    /// Runs a script in the simple query protocol: one or more statements without parameters.
    func run(_ script: String) throws(PostgresError) -> PostgresRows {
        try check(answer(to: PQsendQuery(handle, script), within: answerLimit))
    }

    /// Commits, and returns the command's tag. If a statement of the transaction failed, the server rolls back without
    /// an error, and only the tag says so.
    func commit() throws(PostgresError) -> String {
        try check(answer(to: PQsendQuery(handle, "COMMIT"), within: commitLimit)).tag
    }

    func execute(
        _ statement: PostgresStatement, _ parameters: [PostgresParameter], prepare: Bool
    ) throws(PostgresError) -> PostgresRows {
        guard parameters.allSatisfy(\.isSendable) else {
            throw PostgresError(sqlState: "54000", message: "a parameter is over 1 GiB", kind: .data)
        }
        let types = parameters.map(\.type)
        guard prepare, prepared[statement.name].map({ $0.types == types }) ?? true else {
            // A name is prepared for one list of types. With other types, the SQL runs unprepared.
            return try executeUnprepared(statement.sql, types, parameters)
        }
        let isOld = prepared[statement.name] != nil
        do {
            return try executePrepared(statement, types, parameters)
        } catch  where isOld && (error.sqlState == "26000" || error.sqlState == "0A000") {
            // A pooler switched to another server connection, or a table changed after the server planned the
            // statement. The failed statement changed nothing, but aborted its transaction. The caller must run the
            // whole transaction again.
            forget(statement, after: error)
            guard isAlive, isIdle else { throw error.with(kind: .retriable) }
            return try executePrepared(statement, types, parameters)
        }
    }

    /// Makes the server drop its plans if they are `seconds` old. The server plans by the size of tables, which may
    /// have grown.
    /// - Parameter seconds: the age of the plans; 0 never drops them.
    func renewPlans(afterSeconds seconds: Int) throws(PostgresError) {
        guard seconds > 0, ContinuousClock.now - plansSince >= .seconds(seconds) else { return }
        plansSince = .now
        _ = try run("DISCARD PLANS")
    }

    /// Forgets a prepared statement that the server refused to run.
    private func forget(_ statement: PostgresStatement, after error: PostgresError) {
        prepared[statement.name] = nil
        // The server keeps the outdated statement under its name until the connection ends.
        if error.sqlState == "0A000" { outdated += 1 }
    }

    /// Returns the names of a statement's result columns, without running the statement.
    func columnNames(of sql: String) throws(PostgresError) -> [String] {
        // The next unnamed statement replaces this statement at the server.
        _ = try check(answer(to: PQsendPrepare(handle, "", sql, 0, nil), within: answerLimit))
        return try check(answer(to: PQsendDescribePrepared(handle, ""), within: answerLimit)).columnNames
    }

    private func executePrepared(
        _ statement: PostgresStatement, _ types: [UInt32], _ parameters: [PostgresParameter]
    ) throws(PostgresError) -> PostgresRows {
        let name: String
        if let old = prepared[statement.name] {
            name = old.name
        } else {
            name = outdated == 0 ? statement.name : "\(statement.name)_\(outdated)"
            _ = try check(
                answer(
                    to: PQsendPrepare(handle, name, statement.sql, Int32(types.count), types), within: answerLimit))
            prepared[statement.name] = Prepared(name: name, types: types)
        }
        // libpq copies or sends the values before it returns.
        let wasSent = withPointers(parameters) { values, lengths, formats in
            PQsendQueryPrepared(handle, name, Int32(values.count), values, lengths, formats, 1)
        }
        return try check(answer(to: wasSent, within: answerLimit))
    }

    private func executeUnprepared(
        _ sql: String, _ types: [UInt32], _ parameters: [PostgresParameter]
    ) throws(PostgresError) -> PostgresRows {
        let wasSent = withPointers(parameters) { values, lengths, formats in
            PQsendQueryParams(handle, sql, Int32(values.count), types, values, lengths, formats, 1)
        }
        return try check(answer(to: wasSent, within: answerLimit))
    }

    /// Returns whether the server has prepared all statements for these types, and accepts the parameters' sizes.
    func maySendAtOnce(_ calls: [PostgresCall]) -> Bool {
        calls.allSatisfy { call in
            call.parameters.allSatisfy(\.isSendable)
                && prepared[call.statement.name]?.types == call.parameters.map(\.type)
        }
    }

    /// In one round trip, sends the SQL that begins a transaction, and the transaction's first statements.
    /// `maySendAtOnce` must be true for `calls`. Returns each statement's rows.
    ///
    /// All statements share the time limit of one answer, because PostgreSQL sends its answers at the end.
    func begin(_ words: String, with calls: [PostgresCall]) throws(PostgresError) -> [PostgresRows] {
        let results = try pipelined {
            PQsendQueryParams(handle, words, 0, nil, nil, nil, nil, 1) == 1
                && calls.allSatisfy { call in
                    let name = prepared[call.statement.name]?.name ?? call.statement.name
                    return withPointers(call.parameters) { values, lengths, formats in
                        PQsendQueryPrepared(handle, name, Int32(values.count), values, lengths, formats, 1)
                    } == 1
                }
        }
        do {
            return Array(try checkAll(results).dropFirst())
        } catch  where error.sqlState == "26000" || error.sqlState == "0A000" {
            // The last result is the error, and the first result belongs to `words`.
            if results.count >= 2 { forget(calls[results.count - 2].statement, after: error) }
            throw error.with(kind: .retriable)
        }
    }

    /// Calls `body` with libpq's three arrays. Their pointers refer to the parameters' own buffers.
    private func withPointers<R>(
        _ parameters: [PostgresParameter], _ body: ([UnsafePointer<CChar>?], [Int32], [Int32]) -> R
    ) -> R {
        let lengths = parameters.map { Int32(truncatingIfNeeded: $0.bytes?.count ?? 0) }
        let formats = [Int32](repeating: 1, count: parameters.count)
        // NULL is the null pointer. An empty buffer may have no address, so it gets an address that libpq never reads.
        return withUnsafePointer(to: 0 as CChar) { empty in
            func collect(_ pointers: [UnsafePointer<CChar>?]) -> R {
                guard pointers.count < parameters.count else { return body(pointers, lengths, formats) }
                guard let bytes = parameters[pointers.count].bytes else { return collect(pointers + [nil]) }
                return bytes.withUnsafeBytes { buffer in
                    collect(pointers + [buffer.baseAddress?.assumingMemoryBound(to: CChar.self) ?? empty])
                }
            }
            return collect([])
        }
    }

    /// Returns the result's rows, or throws its error. Takes ownership of the result.
    func check(_ result: OpaquePointer?) throws(PostgresError) -> PostgresRows {
        guard let result else { throw error(nil) }
        switch PQresultStatus(result) {
        case PGRES_TUPLES_OK, PGRES_COMMAND_OK, PGRES_EMPTY_QUERY: return PostgresRows(result)
        case PGRES_COPY_IN, PGRES_COPY_OUT, PGRES_COPY_BOTH:
            PQclear(result)
            // Nothing would end the COPY, so the connection cannot be used again.
            spend()
            throw PostgresError(sqlState: nil, message: "PostgreSQL began an unexpected COPY", kind: .other)
        default:
            defer { PQclear(result) }
            throw error(result)
        }
    }

    /// Returns each result's rows, or throws the first error. Takes ownership of the results.
    private func checkAll(_ results: [OpaquePointer]) throws(PostgresError) -> [PostgresRows] {
        var all: [PostgresRows] = []
        for (index, result) in results.enumerated() {
            do throws(PostgresError) {
                all.append(try check(result))
            } catch {
                for rest in results[(index + 1)...] { PQclear(rest) }
                throw error
            }
        }
        return all
    }

    func error(_ result: OpaquePointer?) -> PostgresError {
        func field(_ code: Character) -> String? {
            PQresultErrorField(result, Int32(code.asciiValue ?? 0)).map { String(cString: $0) }
        }
        // PG_DIAG_SQLSTATE, PG_DIAG_MESSAGE_PRIMARY, PG_DIAG_CONSTRAINT_NAME.
        guard let sqlState = field("C"), let primary = field("M") else {
            let message = Redaction.connection(
                String(cString: PQerrorMessage(handle)), secrets: secrets, known: server.words)
            let error = PostgresError(sqlState: nil, message: message, kind: isAlive ? .other : .connection)
            return isAlive ? error : error.at(server)
        }
        let error = PostgresError(
            sqlState: sqlState, message: Redaction.primary(primary, sqlState: sqlState), constraint: field("n"))
        return isAlive ? error : error.with(kind: .connection)
    }
}

extension PostgresError {
    /// Returns the error with the server's name in its message.
    func at(_ server: ServerName) -> PostgresError {
        with(message: "\(message) (\(server.text))")
    }
}
