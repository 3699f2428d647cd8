import AppStoreSimulation
import Foundation
import Kafka
import Postgres
import Testing

@testable import receiptd

extension EndToEnd {
    /// A role that may do what a worker does, and owns nothing.
    private func makeRole(in bed: Testbed) async throws -> (name: String, uri: String) {
        let name = "worker_\(UInt32.random(in: .min ... .max))"
        try await bed.run(
            """
            CREATE ROLE \(name) LOGIN;
            GRANT USAGE ON SCHEMA public TO \(name);
            GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO \(name);
            GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO \(name)
            """)
        let mark = bed.databaseURL.contains("?") ? "&" : "?"
        return (name, bed.databaseURL + "\(mark)user=\(name)")
    }

    @Test("a right that is taken away from a running worker is told at once by /readyz, page, log and metrics")
    func rightTakenAway() async throws {
        try await Testbed.run { bed in
            let role = try await makeRole(in: bed)
            let worker = try bed.startWorker(["DATABASE_URL": role.uri])
            try await eventually("ready") { await worker.isReady() }
            #expect(try await worker.scrape()["receiptd_ready"] == 1)
            try await bed.run("REVOKE INSERT ON grants FROM \(role.name)")
            let plan = Plan.genuine(count: 6, players: 6)
            try await bed.submit(plan.records)
            try await eventually("/readyz names part, code and words") {
                let answer = try await worker.get("/readyz")
                return answer.status == 503
                    && ["decisions", "42501", "permission denied for table grants"].allSatisfy(answer.body.contains)
            }
            #expect(try await worker.get("/livez").status == 200)
            #expect(try await worker.get("/status.json").body.contains("permission denied for table grants"))
            let failing = try await worker.scrape()
            #expect(failing["receiptd_ready"] == 0)
            #expect(failing[#"receiptd_failures_total{part="decisions"}"#] ?? 0 > 0)
            #expect(failing[#"receiptd_failing{part="decisions"}"#] == 1)
            let told = worker.log.split(separator: "\n").filter { $0.contains(#""part":"decisions""#) }
            #expect(told.count == 1, "\(told)")
            #expect(told.allSatisfy { $0.contains(#""level":"warning""#) && $0.contains(#""sql_state":"42501""#) })
            try await bed.run("GRANT INSERT ON grants TO \(role.name)")
            try await eventually("ready again") { await worker.isReady() }
            try await bed.settle(plan)
            try await eventually("the log says that it is over") {
                worker.log.contains("a part of the process works again")
            }
            try await bed.run("DROP OWNED BY \(role.name)")
        }
    }

    @Test("without Kafka a worker is not ready, its lag stays told, and it comes back by itself")
    func kafkaAway() async throws {
        let plan = Plan.genuine(count: 12, players: 12)
        try await Testbed.run { bed in
            let worker = try bed.startWorker()
            try await bed.submit(plan.records.prefix(6))
            try await eventually("ready, with all partitions") {
                let scrape = try await worker.scrape()
                return scrape["receiptd_ready"] == 1
                    && scrape["receiptd_assigned_partitions"] == Double(bed.parts.partitionCount)
                    && Self.lagSeries(scrape).count == Int(bed.parts.partitionCount)
            }
            let broker = try #require(bed.parts.broker)
            broker.setBrokerDown(1)
            try await eventually("/readyz names Kafka") {
                let answer = try await worker.get("/readyz")
                return answer.status == 503 && answer.body.contains("Kafka is out of reach")
            }
            // The session of these workers is a few seconds long.
            try await eventually("the partitions are lost") {
                try await worker.scrape()["receiptd_assigned_partitions"] == 0
            }
            let away = try await worker.scrape()
            #expect(away["receiptd_ready"] == 0)
            #expect(Self.lagSeries(away).count == Int(bed.parts.partitionCount))
            #expect(try await worker.get("/livez").status == 200)
            broker.setBrokerUp(1)
            try await eventually("ready again") { await worker.isReady() }
            try await bed.submit(plan.records.dropFirst(6))
            try await bed.settle(plan)
            #expect(try await worker.scrape()["receiptd_assigned_partitions"] == Double(bed.parts.partitionCount))
        }
    }

    private static func lagSeries(_ scrape: Scrape) -> [Substring] {
        scrape.text.split(separator: "\n").filter {
            $0.hasPrefix(#"receiptd_consumer_lag{topic="receipt-submissions""#)
        }
    }
}

extension Testbed {
    func run(_ script: String) async throws {
        try await pool.run { try $0.run(script: script) }
    }
}
