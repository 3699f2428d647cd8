import Foundation
import Postgres
import TestSupport
import Testing

@testable import Demo

extension EndToEnd {
    @Test(
        "if the grants and claims are hash-partitioned, a worker decides correctly, and `migrate` keeps the partitions")
    func partitions() async throws {
        let seed = UInt64.random(in: 1...999_999)
        print("partitions: seed \(seed)")
        let plan = TrafficGenerator.plan(seed: seed, count: 600)
        let checkout = URL(fileURLWithPath: #filePath).appending(path: "../../..").standardizedFileURL
        let script = try String(
            contentsOf: checkout.appending(path: "deploy/postgres/partition.sql"), encoding: .utf8)
        try await Testbed.run(settings: ["APPLE_MAX_CONCURRENCY": "16"]) { bed in
            let url = bed.databaseURL
            try await Seeds.withPool(url) { pool in try await pool.run { try $0.run(script: script) } }
            let first = try bed.startWorker()
            var feed = Feed(bed: bed, plan: plan)
            try await feed.sendAndAwaitProgress(200)
            try await first.kill()
            try bed.startWorker()
            try await feed.send(plan.records.count)
            try await bed.settle(plan)
            let problems = try await Checker(bed: bed, plan: plan).problems()
            #expect(problems.isEmpty, "seed \(seed): \(problems.prefix(20))")
            let used = try await bed.query("SELECT count(DISTINCT tableoid) FROM grants") { $0.int8(0, 0) }
            #expect(used ?? 0 > 8)
            // Both tables are partitioned, so the second run of the script changes nothing.
            try await Seeds.withPool(url) { pool in try await pool.run { try $0.run(script: script) } }
            try await bed.query("UPDATE schema_version SET version = 5") { _ in }
            let migration = try await Program.run(["migrate"], environment: bed.environment())
            #expect(migration.code == 0, "\(migration)")
            let kinds = try await bed.query(
                "SELECT count(*) FROM pg_class WHERE relkind = 'p' AND relname IN ('grants', 'claims')"
            ) { $0.int8(0, 0) }
            #expect(kinds == 2)
        }
    }
}
