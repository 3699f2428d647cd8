import AppStoreSimulation
import EmbeddedPostgres
import Foundation
import Kafka
import TestSupport
import Testing

@testable import Demo

extension EndToEnd {
    @Test(
        "if workers start and stop under load, every worker exits with 0, and every submission is decided correctly",
        arguments: [SIGTERM, SIGINT])
    func stopping(signal: Int32) async throws {
        let seed = UInt64.random(in: 1...999_999)
        print("stopping by \(signal): seed \(seed)")
        let plan = TrafficGenerator.plan(seed: seed, count: 1_200)
        let settings = ["APPLE_MAX_CONCURRENCY": "16", "MAX_IN_FLIGHT": "200"]
        try await Testbed.run(latency: .uniform(5, 150), settings: settings) { bed in
            try await bed.recordParked()
            let first = try bed.startWorker()
            var feed = Feed(bed: bed, plan: plan)
            try await feed.send(500)
            try await bed.outcomes.until("the first worker answers") { $0.events.count > 50 }
            let second = try bed.startWorker()
            try await feed.send(300)
            try await eventually("the second worker has partitions") { second.log.contains("partitions assigned") }
            try await feed.send(plan.records.count)
            let check = CommitCheck(bed: bed, plan: plan, places: feed.places)
            first.process.send(signal)
            #expect(try await first.ending(within: .seconds(30)) == 0)
            expectNone(try await check.problems())
            try await bed.settle(plan)
            let problems = try await Checker(
                bed: bed, plan: plan, appleConcurrency: 2 * 16, parkedOnce: bed.parkedOnce()
            ).problems()
            #expect(problems.isEmpty, "seed \(seed): \(problems.prefix(20))")
            second.process.send(signal)
            #expect(try await second.ending(within: .seconds(30)) == 0)
        }
    }

    enum Trouble: CaseIterable {
        case apple, database, broker
    }

    @Test("if Apple, PostgreSQL or the broker is down, a worker exits with 0 after SIGTERM, and no submission is lost")
    func stoppingInTrouble() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for trouble in Trouble.allCases where trouble != .broker || !TestBroker.isReal {
                group.addTask { try await self.stop(in: trouble) }
            }
            try await group.waitForAll()
        }
    }

    private func stop(in trouble: Trouble) async throws {
        let seed = UInt64.random(in: 1...999_999)
        print("stopping without \(trouble): seed \(seed)")
        let plan = TrafficGenerator.plan(seed: seed, count: 300)
        let settings = ["SHUTDOWN_GRACE_SECONDS": "5", "APPLE_MAX_CONCURRENCY": "16"]
        let database = trouble == .database ? Testbed.Database.ownServer : .prepared
        try await Testbed.run(on: database, latency: .uniform(5, 100), settings: settings) { bed in
            try await bed.recordParked()
            let first = try bed.startWorker()
            var feed = Feed(bed: bed, plan: plan)
            try await feed.sendAndAwaitProgress(200)
            let server = bed.parts.postgres
            let broker = bed.parts.broker
            switch trouble {
            case .apple: try await bed.apple.setOutage(.hang)
            case .database: try await blocking { server?.stopServer() }
            case .broker: broker?.setBrokerDown(1)
            }
            first.process.terminate()
            let code = try await first.ending()
            #expect(
                code == 0, "without \(trouble): \(first.log.split(separator: "\n").suffix(40).joined(separator: "\n"))")
            switch trouble {
            case .apple: try await bed.apple.setOutage(nil)
            case .database: try await blocking { try server?.startServer() }
            case .broker: broker?.setBrokerUp(1)
            }
            try bed.startWorker()
            try await feed.send(plan.records.count)
            do { try await bed.settle(plan) } catch {
                throw DeadlinePassed(description: "without \(trouble): \(error)")
            }
            let problems = try await Checker(bed: bed, plan: plan, parkedOnce: bed.parkedOnce()).problems()
            #expect(problems.isEmpty, "without \(trouble), seed \(seed): \(problems.prefix(20))")
        }
    }

    @Test("if PostgreSQL is frozen, a worker exits with 0 within 30 seconds of SIGTERM, and no submission is lost")
    func stoppingWhileFrozen() async throws {
        let plan = TrafficGenerator.plan(seed: 11, count: 200)
        let settings = ["SHUTDOWN_GRACE_SECONDS": "4", "APPLE_MAX_CONCURRENCY": "16"]
        try await Testbed.run(on: .ownServer, latency: .uniform(5, 100), settings: settings) { bed in
            try await bed.recordParked()
            let worker = try bed.startWorker()
            var feed = Feed(bed: bed, plan: plan)
            try await feed.sendAndAwaitProgress(100)
            let server = try #require(bed.parts.postgres)
            let frozen = server.processIDs
            for process in frozen { kill(process, SIGSTOP) }
            defer { for process in frozen { kill(process, SIGCONT) } }
            worker.process.terminate()
            #expect(try await worker.ending(within: .seconds(30)) == 0)
            for process in frozen { kill(process, SIGCONT) }
            try bed.startWorker()
            try await feed.send(plan.records.count)
            try await bed.settle(plan)
            expectNone(try await Checker(bed: bed, plan: plan, parkedOnce: bed.parkedOnce()).problems())
        }
    }

    @Test(
        "if the broker is down, a worker exits with 0 within 30 seconds of SIGTERM, despite a Kafka session of a minute",
        .onlyInProcessBroker)
    func stoppingInGrace() async throws {
        let settings = [
            "SHUTDOWN_GRACE_SECONDS": "4", "APPLE_MAX_CONCURRENCY": "16",
            "KAFKA_PROPERTIES": "session.timeout.ms=60000;heartbeat.interval.ms=300;reconnect.backoff.max.ms=500",
        ]
        let plan = TrafficGenerator.plan(seed: 7, count: 200)
        try await Testbed.run(latency: .fixed(100), settings: settings) { bed in
            let worker = try bed.startWorker()
            var feed = Feed(bed: bed, plan: plan)
            try await feed.sendAndAwaitProgress(200)
            try #require(bed.parts.broker).setBrokerDown(1)
            worker.process.terminate()
            #expect(try await worker.ending(within: .seconds(30)) == 0)
            let last = worker.log.split(separator: "\n").last.map(String.init) ?? ""
            #expect(last.contains(#""msg":"stopped""#) && last.contains("duration_seconds"), "\(last)")
        }
    }

    @Test("a second SIGTERM ends a worker immediately, and the next worker decides the submissions in flight")
    func stoppingTwice() async throws {
        let plan = Plan.genuine(count: 30, players: 10)
        try await Testbed.run(settings: ["SHUTDOWN_GRACE_SECONDS": "120"]) { bed in
            try await bed.apple.setOutage(.hang)
            try await bed.submit(plan.records)
            let worker = try bed.startWorker()
            try await eventually("records are under way") {
                try await (worker.scrape()["receiptd_in_flight"] ?? 0) > 0
            }
            worker.process.terminate()
            try await eventually("it is stopping") { worker.log.contains(#""msg":"stopping""#) }
            worker.process.terminate()
            #expect(try await worker.ending(within: .seconds(30)) == 1)
            try await bed.apple.setOutage(nil)
            try bed.startWorker()
            try await bed.settle(plan)
            expectNone(try await Checker(bed: bed, plan: plan).problems())
        }
    }

    @Test("if a worker is frozen past its Kafka session and then resumes, no submission is lost or granted twice")
    func frozen() async throws {
        let seed = UInt64.random(in: 1...999_999)
        print("frozen: seed \(seed)")
        let plan = TrafficGenerator.plan(seed: seed, count: 800)
        let settings = ["APPLE_MAX_CONCURRENCY": "16", "MAX_IN_FLIGHT": "200"]
        try await Testbed.run(latency: .uniform(5, 150), settings: settings) { bed in
            // If requests to Apple time out while the worker is frozen, the worker parks their submissions.
            try await bed.recordParked()
            let frozen = try bed.startWorker()
            var feed = Feed(bed: bed, plan: plan)
            try await feed.sendAndAwaitProgress(400)
            frozen.process.send(SIGSTOP)
            let other = try bed.startWorker()
            try await eventually("the other took over") { other.log.contains("partitions assigned") }
            try await feed.sendAndAwaitProgress(100)
            frozen.process.send(SIGCONT)
            try await feed.send(plan.records.count)
            try await bed.settle(plan)
            let problems = try await Checker(
                bed: bed, plan: plan, appleConcurrency: 2 * 16, parkedOnce: bed.parkedOnce()
            ).problems()
            #expect(problems.isEmpty, "seed \(seed): \(problems.prefix(20))")
        }
    }
}
