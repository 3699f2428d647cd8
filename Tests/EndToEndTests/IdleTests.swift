import Foundation
import Postgres
import TestSupport
import Testing

@testable import Demo

extension EndToEnd {
    @Test("a worker with nothing to do asks PostgreSQL fewer than seventeen times a second")
    func idle() async throws {
        let seconds = 8
        // A server of its own: nobody else's sessions are counted.
        try await Testbed.run(on: .ownServer) { bed in
            let worker = try bed.startWorker()
            try await eventually("ready") { await worker.isReady() }
            // The time itself is what is tested: the first looks are over, and then as many come as the worker's pauses allow. A
            // machine that is busy lets fewer come.
            try await Task.sleep(for: .seconds(4))
            let before = try await Self.transactions(bed)
            try await Task.sleep(for: .seconds(seconds))
            let count = try await Self.transactions(bed) - before
            #expect(count >= seconds && count < 17 * Int64(seconds), "\(count) in \(seconds) s")
        }
    }

    /// The number of ended transactions. A session tells of its own each second.
    private static func transactions(_ bed: Testbed) async throws -> Int64 {
        let sql = """
            SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()
            """
        return try await bed.query(sql) { $0.int8(0, 0) ?? 0 }
    }
}
