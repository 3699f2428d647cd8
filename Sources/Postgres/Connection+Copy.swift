import CLibPQ

extension Connection {
    /// Runs a COPY with all chunks of `next`, and returns the number of rows. If `next` throws, aborts the COPY and
    /// throws the same error.
    func copyIn(_ sql: String, next: () throws -> [UInt8]?) throws -> Int {
        let start = try answer(to: PQsendQuery(handle, sql), within: answerLimit)
        guard PQresultStatus(start) == PGRES_COPY_IN else {
            _ = try check(start)
            throw PostgresError(sqlState: nil, message: "not a COPY FROM STDIN", kind: .other)
        }
        PQclear(start)
        do {
            while let chunk = try next() { try put(chunk) }
        } catch let error as PostgresError where error.kind == .connection {
            throw error
        } catch {
            // The server's answer is ignored, because it only says that the client aborted.
            _ = try? finish("the client gave up")
            throw error
        }
        return try finish(nil)
    }

    private func put(_ chunk: [UInt8]) throws(PostgresError) {
        let deadline = ContinuousClock.now + answerLimit
        // libpq accepts at most 2 GiB in one call.
        for start in stride(from: 0, to: chunk.count, by: 1 << 20) {
            let piece = chunk[start..<min(chunk.count, start + 1 << 20)]
            try whileFull(until: deadline) {
                piece.withUnsafeBytes { buffer in
                    PQputCopyData(handle, buffer.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(buffer.count))
                }
            }
            // Without a flush, libpq would buffer all chunks that the server has not read.
            try flush(until: deadline)
        }
    }

    /// Ends the COPY, and returns the number of rows.
    /// - Parameter reason: the reason why the client aborts the COPY; nil if the COPY is complete.
    private func finish(_ reason: String?) throws(PostgresError) -> Int {
        try whileFull(until: .now + answerLimit) { PQputCopyEnd(handle, reason) }
        return try check(answer(to: 1, within: answerLimit)).affectedRows
    }

    /// Calls `put` until libpq accepts the data. `put` returns 0 while libpq's buffer is full.
    private func whileFull(
        until deadline: ContinuousClock.Instant, _ put: () -> Int32
    ) throws(PostgresError) {
        while true {
            switch put() {
            case 1: return
            case 0: try flush(until: deadline)
            default: throw error(nil)
            }
        }
    }
}
