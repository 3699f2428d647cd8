import AppStoreSimulation
import EmbeddedPostgres
import Foundation
import Kafka
import Postgres
import TestSupport
import Testing

@testable import Demo

extension EndToEnd {
    @Test(
        "after an outage and a crash of PostgreSQL, and cut connections, the worker answers every submission correctly",
        .takesLong)
    func database() async throws {
        try await load(on: .ownServer, "PostgreSQL's outage") { bed, worker, feed in
            let server = try #require(bed.parts.postgres)
            try await blocking { server.stopServer() }
            try await feed.send(100)
            try await last(.seconds(10))
            try await eventually("/readyz says so") {
                let answer = try await worker.get("/readyz")
                return answer.status == 503 && answer.body.contains("PostgreSQL")
            }
            #expect(try await worker.get("/livez").status == 200)
            try await blocking { try server.startServer() }
            try await feed.sendAndAwaitProgress()
            try await blocking {
                server.stopServer(crashing: true)
                try server.startServer()
            }
            try await feed.sendAndAwaitProgress()
            for _ in 0..<5 {
                try await feed.send(50)
                try await bed.pool.run { session in
                    _ = try session.execute(
                        PostgresStatement(
                            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'receiptd'"
                        ))
                }
                try await last(.milliseconds(100))
            }
            try await eventually("ready again") { await worker.isReady() }
        }
    }

    @Test("after two short outages of the broker the worker answers every submission correctly", .onlyInProcessBroker)
    func broker() async throws {
        try await load("the broker's outage") { bed, _, feed in
            let broker = try #require(bed.parts.broker)
            for _ in 0..<2 {
                broker.setBrokerDown(1)
                try await last(.seconds(3))
                broker.setBrokerUp(1)
                try await feed.sendAndAwaitProgress()
            }
        }
    }

    @Test("after ten seconds without Apple, in five kinds of outage, the worker answers every submission correctly")
    func apple() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for outage in [SimulatedOutage.refuse, .hang, .reset, .http503, .html] {
                group.addTask {
                    try await self.load("Apple's outage \(outage)", count: 300, window: 700) { bed, _, feed in
                        try await bed.apple.setOutage(outage)
                        try await feed.send(50)
                        try await last(.seconds(10))
                        try await bed.apple.setOutage(nil)
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    /// Submits while a fault lasts, and then checks the results.
    /// - Parameter window: the worker's places for submissions in flight. Failed submissions may take half of the
    ///   places. The worker parks further failed submissions, and answers them later.
    private func load(
        on database: Testbed.Database = .prepared, _ name: String, count: Int = 1_000, window: Int = 200,
        _ fault: @Sendable (Testbed, Worker, inout Feed) async throws -> Void
    ) async throws {
        let seed = UInt64.random(in: 1...999_999)
        print("\(name): seed \(seed)")
        let plan = TrafficGenerator.plan(seed: seed, count: count)
        let settings = ["APPLE_MAX_CONCURRENCY": "16", "MAX_IN_FLIGHT": "\(window)"]
        try await Testbed.run(on: database, latency: .uniform(5, 100), settings: settings) { bed in
            try await bed.recordParked()
            let worker = try bed.startWorker()
            var feed = Feed(bed: bed, plan: plan)
            try await feed.send(count / 2 - 100)
            try await feed.sendAndAwaitProgress()
            try await fault(bed, worker, &feed)
            try await feed.send(plan.records.count)
            do { try await bed.settle(plan) } catch {
                throw DeadlinePassed(description: "\(name), seed \(seed): \(error)")
            }
            let problems = try await Checker(
                bed: bed, plan: plan, appleConcurrency: 16, parkedOnce: bed.parkedOnce()
            ).problems()
            #expect(problems.isEmpty, "\(name), seed \(seed): \(problems.prefix(20))")
        }
    }
}
