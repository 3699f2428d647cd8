import EmbeddedPostgres
import Foundation
import Kafka
import Postgres
import TestSupport
import Testing

@testable import Demo

/// Scenes in which the database blocks the workers or loses commits.
extension Scene {
    /// The ends of the plan's first two parts. Each scene submits the plan in three parts.
    private static let first = 80
    private static let second = 160

    /// Locks the table of checkpoints for some seconds. The workers can write to all other tables.
    func checkpointsWait() async throws {
        monitor.start()
        try bed.startWorker()
        await load.send(upTo: Self.first)
        try await done(Self.first)
        try await whileLocked("offset_checkpoints", "EXCLUSIVE") {
            await load.send(upTo: Self.second)
            try await answered(Self.second)
            // Workers commit offsets every second.
            try await last(.seconds(3))
        }
        await load.finish()
        await settle()
    }

    /// Restores an earlier copy of the data directory while the worker runs.
    /// - Parameter isCheckpointed: true if an earlier owner of the partitions made and checkpointed the lost decisions;
    ///   false if the present owner made them, and no checkpoint covers them.
    func putBack(isCheckpointed: Bool) async throws {
        let server = try #require(bed.parts.postgres)
        monitor.start()
        try bed.startWorker()
        await load.send(upTo: Self.first)
        try await done(Self.first)
        try await blocking {
            server.stopServer()
            try server.keepCopy()
            try server.startServer()
        }
        if isCheckpointed {
            await load.send(upTo: Self.second)
            try await done(Self.second)
            try await replaceWorkers()
            try await lose(server)
        } else {
            try await whileLocked("offset_checkpoints", "EXCLUSIVE") {
                await load.send(upTo: Self.second)
                try await answered(Self.second)
                try await lose(server)
            }
        }
        await load.finish()
        await settle()
    }

    /// Freezes a session in the middle of a batch. The server keeps running.
    func hungBatch() async throws {
        monitor.start()
        // A session counts as hung 5 s after the time-out of its statement.
        try bed.startWorker(["DATABASE_URL": bed.databaseURL + "?options=-cstatement_timeout%3D5s"])
        await load.send(upTo: Self.first)
        try await done(Self.first)
        var backend: Int32?
        defer { if let backend { kill(backend, SIGCONT) } }
        try await whileLocked("claims", "ACCESS EXCLUSIVE") {
            await load.send(upTo: Self.second)
            try await eventually("a batch waits for the lock") {
                backend = try await bed.query(
                    """
                    SELECT pid FROM pg_stat_activity
                    WHERE application_name = 'receiptd' AND wait_event_type = 'Lock' AND query LIKE '%INSERT INTO claims%'
                    """
                ) { rows in rows.count == 0 ? nil : rows.int4(0, 0).map { Int32($0) } }
                return backend != nil
            }
            if let backend { kill(backend, SIGSTOP) }
        }
        await load.finish()
        await settle()
    }

    private func lose(_ server: EmbeddedPostgres) async throws {
        databaseLife.beginLosing()
        defer { databaseLife.endLosing() }
        try await blocking {
            server.stopServer()
            try server.putCopyBack()
            try server.startServer()
        }
    }

    /// Stops the workers, and starts a new worker. The new worker lost none of its own decisions, so only the
    /// checkpoints can tell it that the database fell back.
    private func replaceWorkers() async throws {
        for worker in bed.allWorkers {
            worker.process.terminate()
            #expect(try await worker.ending() == 0)
        }
        let next = try bed.startWorker()
        // A worker reads the other topics once it has read the checkpoints of all its partitions.
        try await eventually("the next worker has read the checkpoints") {
            next.log.contains("partitions of a topic assigned")
        }
    }

    private func answered(_ count: Int) async throws {
        try await bed.outcomes.until("\(count) are answered") { $0.answers.count >= count }
    }

    private func done(_ count: Int) async throws {
        try await answered(count)
        try await eventually("all is committed") { try await bed.lag() == 0 }
    }

    /// Locks a table in the test's own session, until the body returns or the server stops.
    private func whileLocked(_ table: String, _ mode: String, _ body: () async throws -> Void) async throws {
        try await Seeds.withPool(bed.databaseURL) { pool in
            let locking = Task {
                try await pool.run { session in
                    try session.run(script: "BEGIN; LOCK TABLE \(table) IN \(mode) MODE; SELECT pg_sleep(25); COMMIT")
                }
            }
            try await eventually("the table is locked") {
                try await bed.query(
                    """
                    SELECT count(*) FROM pg_locks
                    WHERE relation = '\(table)'::regclass AND granted AND mode = '\(Self.name(of: mode))'
                    """
                ) { $0.int8(0, 0) ?? 0 } > 0
            }
            try await body()
            _ = try? await bed.query(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'BEGIN; LOCK TABLE \(table) %'"
            ) { $0.count }
            _ = await locking.result
        }
    }

    /// Returns the name that a lock mode has in `pg_locks`.
    private static func name(of mode: String) -> String {
        mode == "EXCLUSIVE" ? "ExclusiveLock" : "AccessExclusiveLock"
    }
}
