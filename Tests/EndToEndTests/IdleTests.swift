import Foundation
import Postgres
import TestSupport
import Testing

@testable import Demo

extension EndToEnd {
    @Test("an idle worker runs fewer than 17 SQL transactions per second")
    func idle() async throws {
        let seconds = 8
        // With a server of its own, the test counts only its own sessions.
        try await Testbed.run(on: .ownServer) { bed in
            let worker = try bed.startWorker()
            // A worker starts the reading of the other topics after the takeover of submissions; then it is idle.
            let topics = ["app-store-notifications", "player-accounts", "receipt-consumption"]
            let assigned = topics.map { #""msg":"partitions of a topic assigned","count":4,"topic":"\#($0)""# }
            try await eventually("the worker reads all its topics") {
                let log = worker.log
                return assigned.allSatisfy(log.contains)
            }
            // The test counts SQL transactions after the start. The worker's pauses limit their number; a busy machine
            // only lowers it.
            try await Task.sleep(for: .seconds(4))
            let before = try await Self.transactions(bed)
            try await Task.sleep(for: .seconds(seconds))
            let count = try await Self.transactions(bed) - before
            #expect(count >= seconds && count < 17 * Int64(seconds), "\(count) in \(seconds) s")
        }
    }

    /// Returns the number of SQL transactions so far. Each session adds its own transactions to this number once a
    /// second.
    private static func transactions(_ bed: Testbed) async throws -> Int64 {
        let sql = """
            SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()
            """
        return try await bed.query(sql) { $0.int8(0, 0) ?? 0 }
    }
}
