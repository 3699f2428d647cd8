import AppStoreSimulation
import Foundation
import Kafka
import Operations
import Postgres
import TestSupport
import Testing

@testable import Demo

extension EndToEnd {
    /// Creates a database role that has a worker's rights and owns no table.
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

    @Test("if a running worker loses a database right, /readyz, status, log and metrics name the failing part")
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

    @Test(
        "if a Kafka topic vanishes, the worker logs the failure once, and is unready until the topic is back",
        .onlyInProcessBroker)
    func topicGone() async throws {
        try await Testbed.run { bed in
            let topic = bed.parts.deadLettersTopic
            let worker = try bed.startWorker()
            try await eventually("ready") { await worker.isReady() }
            // The worker publishes nothing to this topic, so only a metadata request shows the failure.
            bed.parts.broker?.setTopicError(topic, KafkaError.Code.unknownTopicOrPartition)
            try await eventually("/readyz names it", within: .seconds(60)) {
                let answer = try await worker.get("/readyz")
                return answer.status == 503 && answer.body.contains("there is no topic \(topic)")
            }
            #expect(try await worker.scrape()[#"receiptd_failing{part="topics"}"#] == 1)
            bed.parts.broker?.setTopicError(topic, 0)
            try await eventually("ready again") { await worker.isReady() }
            let told = worker.log.split(separator: "\n").filter {
                $0.contains(#""part":"topics""#) && $0.contains("a part of the process fails")
            }
            #expect(told.count == 1, "\(told)")
        }
    }

    @Test(
        "without an outcomes topic a worker is unready even before the first submission, until the topic exists",
        .onlyInProcessBroker)
    func outcomesTopicMissing() async throws {
        try await Testbed.run { bed in
            bed.parts.broker?.setTopicError(bed.parts.outcomesTopic, KafkaError.Code.unknownTopicOrPartition)
            let worker = try bed.startWorker()
            try await eventually("/readyz names it, before anything was submitted", within: .seconds(60)) {
                let answer = try await worker.get("/readyz")
                return answer.status == 503 && answer.body.contains("there is no topic \(bed.parts.outcomesTopic)")
            }
            #expect(!worker.log.contains("publishing failed"))
            bed.parts.broker?.setTopicError(bed.parts.outcomesTopic, 0)
            try await eventually("ready") { await worker.isReady() }
        }
    }

    @Test(
        "if a worker may not store traffic counts, the worker stays ready, decides, logs the refusal, and exits with 0"
    )
    func uncountedTraffic() async throws {
        try await Testbed.run { bed in
            let role = try await makeRole(in: bed)
            try await bed.run("REVOKE ALL ON traffic_minutes, traffic_hours FROM \(role.name)")
            let worker = try bed.startWorker(["DATABASE_URL": role.uri])
            let plan = Plan.genuine(count: 6, players: 6)
            try await bed.submit(plan.records)
            try await bed.settle(plan)
            #expect(await worker.isReady())
            // The worker stores its traffic counts every minute, and when it stops.
            worker.process.terminate()
            #expect(try await worker.ending() == 0)
            let told = worker.log.split(separator: "\n").filter { $0.contains(#""part":"traffic""#) }
            #expect(told.contains { $0.contains(#""sql_state":"42501""#) }, "\(told)")
            try await bed.run("DROP OWNED BY \(role.name)")
        }
    }

    @Test(
        "while Kafka is down, a worker is unready and still reports the lag; afterwards the worker recovers by itself",
        .onlyInProcessBroker)
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
            // The Kafka session of these workers lasts a few seconds.
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

    @Test(
        "if the database role does not exist, a worker keeps running, and /readyz answers 503 with PostgreSQL's message"
    )
    func wrongRole() async throws {
        try await Testbed.run { bed in
            let mark = bed.databaseURL.contains("?") ? "&" : "?"
            let worker = try bed.startWorker(["DATABASE_URL": bed.databaseURL + "\(mark)user=nobody_of_that_name"])
            try await eventually("/readyz says it in PostgreSQL's words") {
                let answer = try await worker.get("/readyz")
                return answer.status == 503 && answer.body.contains("does not exist")
                    && answer.body.contains("receiptd check")
            }
            #expect(worker.process.isRunning)
            #expect(worker.log.contains("does not exist"))
            worker.process.terminate()
            #expect(try await worker.ending() == 0)
        }
    }

    @Test("if the HTTP port is taken, a worker exits with 69, names port and address, and gets no partition")
    func portTaken() async throws {
        try await Testbed.run { bed in
            let first = try bed.startWorker()
            let port = try await first.port()
            try await eventually("ready") { await first.isReady() }
            let second = try bed.startWorker(["HTTP_PORT": "\(port)"])
            #expect(try await second.ending() == 69)
            #expect(second.log.contains("port \(port) of 127.0.0.1 is taken"), "\(second.log)")
            #expect(!second.log.contains("partitions assigned"))
        }
    }

    @Test("if an endless part of a worker ends, the worker names the part and exits with 1")
    func partEnds() async throws {
        try await Testbed.run { bed in
            // Only the console has the part `databaseWatch`.
            let all = EndlessPart.allCases.filter { $0 != .databaseWatch }
            for parts in stride(from: 0, to: all.count, by: 4).map({ all[$0..<min($0 + 4, all.count)] }) {
                let workers = try parts.map { part in
                    (
                        part,
                        try bed.startWorker([
                            "RECEIPTD_END_PART": part.rawValue, "KAFKA_GROUP_ID": "group-\(part.rawValue)",
                            "SHUTDOWN_GRACE_SECONDS": "5",
                        ])
                    )
                }
                for (part, worker) in workers {
                    #expect(try await worker.ending() == 1, "\(part)")
                    #expect(worker.log.contains("the \(part.rawValue) ended before the process stopped"), "\(part)")
                }
            }
        }
    }

    @Test("if a worker's clock is two hours ahead of PostgreSQL's, the worker reports the difference and stays ready")
    func clocks() async throws {
        try await Testbed.run { bed in
            // These statements make the server's clock seem two hours behind to the worker.
            try await bed.run(
                """
                CREATE SCHEMA two_hours_behind;
                CREATE FUNCTION two_hours_behind.clock_timestamp() RETURNS timestamptz LANGUAGE sql
                    AS $q$SELECT pg_catalog.clock_timestamp() - interval '2 hours'$q$
                """)
            let mark = bed.databaseURL.contains("?") ? "&" : "?"
            let path = "options=-csearch_path%3Dtwo_hours_behind,pg_catalog,public"
            let worker = try bed.startWorker(["DATABASE_URL": bed.databaseURL + mark + path])
            try await eventually("the clocks are told") {
                worker.log.contains("s ahead of PostgreSQL's clock") && worker.log.contains(#""part":"clocks""#)
            }
            let scrape = try await worker.scrape()
            #expect(abs((scrape[#"receiptd_clock_skew_seconds{against="postgresql"}"#] ?? 0) - 7_200) < 60)
            #expect(scrape[#"receiptd_failing{part="clocks"}"#] == 1)
            try await eventually("ready all the same, and /readyz names it") {
                let answer = try await worker.get("/readyz")
                return answer.status == 200 && answer.body.contains("ahead of PostgreSQL's clock")
            }
        }
    }

    @Test("`receiptd check` exits with 69 and names each missing database right")
    func checkedRights() async throws {
        try await Testbed.run { bed in
            let role = try await makeRole(in: bed)
            let environment = bed.environment(["DATABASE_URL": role.uri])
            let sound = try await Program.run(["check"], environment: environment)
            #expect(sound.output.contains("ok      postgresql rights"), "\(sound.output)")
            try await bed.run(
                "REVOKE INSERT ON grants FROM \(role.name); REVOKE UPDATE ON offset_checkpoints FROM \(role.name)")
            let refused = try await Program.run(["check"], environment: environment)
            #expect(refused.code == 69)
            #expect(
                refused.output.contains("cannot grant: 42501 permission denied for table grants"), "\(refused.output)")
            #expect(refused.output.contains("42501 permission denied for table offset_checkpoints"))
            #expect(try await bed.query("SELECT count(*) FROM grants") { $0.int8(0, 0) } == 0)
            try await bed.run("DROP OWNED BY \(role.name)")
        }
    }
}

extension Testbed {
    func run(_ script: String) async throws {
        try await pool.run { try $0.run(script: script) }
    }
}
