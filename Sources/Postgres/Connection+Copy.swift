import CLibPQ

extension Connection {
    /// Sends all of `next`'s chunks; a failure of `next` aborts the COPY and is thrown on.
    func copyIn(_ sql: String, next: () throws -> [UInt8]?) throws -> Int {
        let start = PQexec(handle, sql)
        guard PQresultStatus(start) == PGRES_COPY_IN else {
            _ = try check(start)
            throw PostgresError(sqlState: nil, message: "not a COPY FROM STDIN", kind: .other)
        }
        PQclear(start)
        do {
            while let chunk = try next() { try put(chunk) }
        } catch {
            _ = PQputCopyEnd(handle, "the client gave up")
            _ = try? finishCopy()
            throw error
        }
        guard PQputCopyEnd(handle, nil) == 1 else { throw error(nil) }
        return try finishCopy()
    }

    private func put(_ chunk: [UInt8]) throws(PostgresError) {
        // libpq takes 2 GiB at most at a time.
        for start in stride(from: 0, to: chunk.count, by: 1 << 20) {
            let piece = chunk[start..<min(chunk.count, start + 1 << 20)]
            let sent = piece.withUnsafeBytes { buffer in
                PQputCopyData(handle, buffer.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(buffer.count))
            }
            guard sent == 1 else { throw error(nil) }
        }
    }

    private func finishCopy() throws(PostgresError) -> Int {
        let result = PQgetResult(handle)
        // The connection is not free before a null result; a lost one gives it too. One whose COPY could not be ended
        // gives this status for ever.
        while let more = PQgetResult(handle) {
            defer { PQclear(more) }
            if PQresultStatus(more) == PGRES_COPY_IN { break }
        }
        return try check(result).affectedRows
    }
}
