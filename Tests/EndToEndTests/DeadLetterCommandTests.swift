import Encodings
import Foundation
import Fulfillment
import Kafka
import Ledger
import NamesAndTimes
import Postgres
import TestSupport
import Testing

@testable import Administration
@testable import Demo
@testable import Pipeline
@testable import ReceiptdConfiguration

extension EndToEnd {
    /// Six records without a signature: three valid submissions and three invalid records.
    private static var unsigned: [PlannedRecord] {
        (0..<6).map { number in
            let value =
                number < 3
                ? #"{"submission_id":"secret-\#(number)","player_id":"p","bundle_id":"com.example.none","#
                    + #""receipt_data":"AAAA"}"# : "secret-\(number) is no JSON"
            return PlannedRecord(
                key: Array("key-\(number)".utf8), value: Array(value.utf8),
                headers: [KafkaHeader(name: "traceparent", value: Array("00-\(number)".utf8))], playerID: "-")
        }
    }

    private static func filters(_ environment: [String: String]) async throws {
        for (options, rows) in [
            (["--bundle", "x"], 0), (["--player", "p"], 3), (["--player", "key-4"], 1), (["--player", "key-0"], 0),
            (["--since", "2999-01-01T00:00:00Z"], 0), (["--since", "2001-01-01T00:00:00Z"], 6),
            (["--before", "2001-01-01T00:00:00Z"], 0), (["--before", "2999-01-01T00:00:00Z"], 6),
        ] {
            let some = try await Program.run(["dead-letters", "list"] + options, environment: environment)
            #expect(some.code == 0 && some.output.split(separator: "\n").count == rows + 1, "\(options): \(some)")
        }
    }

    @Test("`dead-letters redrive` republishes each dead letter once, and none that would become a dead letter again")
    func deadLetters() async throws {
        try await Testbed.run { bed in
            let worker = try bed.startWorker(["SUBMISSION_SIGNING_KEYS": "a-key"])
            let environment = bed.environment()
            let empty = try await Program.run(["dead-letters", "list"], environment: environment)
            #expect(empty.code == 0 && empty.output.contains("no dead letters"), "\(empty)")
            let records = Self.unsigned
            try await bed.submit(records)
            try await bed.outcomes.until("all are set aside") { $0.deadLetters.count == 6 }

            let table = try await Program.run(["dead-letters", "list"], environment: environment)
            #expect(table.code == 0 && table.output.split(separator: "\n").count == 7, "\(table)")
            #expect(table.output.contains("bad_signature") && !table.output.contains("no JSON"), "\(table)")
            #expect(table.output.contains("key key-4"), "\(table)")
            try await Self.filters(environment)
            let shown = try await Program.run(
                ["dead-letters", "list", "--json", "--limit", "2"], environment: environment)
            let json = try JSONParser.parse(Array(shown.output.utf8)).value
            #expect(json["dead_letters"]?.array?.count == 2, "\(shown)")
            #expect(shown.output.contains(#""total":6"#), "\(shown)")
            let other = try await Program.run(
                ["dead-letters", "list", "--reason", "crashed"], environment: environment)
            #expect(other.code == 0 && other.output.contains("no dead letters"), "\(other)")

            // With the signing key set, all records would become dead letters again.
            let keyed = try await Program.run(
                ["dead-letters", "redrive"], environment: bed.environment(["SUBMISSION_SIGNING_KEYS": "a-key"]))
            #expect(
                keyed.code == 0 && keyed.output.hasPrefix("0 published again; 6 would become dead letters again"),
                "\(keyed)")
            let tried = try await Program.run(["dead-letters", "redrive", "--dry-run"], environment: environment)
            #expect(tried.code == 0 && tried.output.contains("3 would be published again"), "\(tried)")
            let fewer = try await Program.run(
                ["dead-letters", "redrive", "--all", "--limit", "2", "--yes", "--dry-run"], environment: environment)
            #expect(fewer.code == 0 && fewer.output.contains("2 would be published again"), "\(fewer)")
            worker.process.terminate()
            #expect(try await worker.ending() == 0)
            let before = try await bed.committedOffsets().values.reduce(0) { $0 + $1.high }
            let done = try await Program.run(
                ["dead-letters", "redrive", "--reason", "bad_signature", "--operator", "ann"],
                environment: environment)
            #expect(done.code == 0, "\(done)")
            #expect(
                done.output.hasPrefix(
                    "3 published again; 3 would become dead letters again, so they stay on the dead-letter topic"),
                "\(done)")
            let again = try await Program.run(["dead-letters", "redrive"], environment: environment)
            #expect(again.code == 0, "\(again)")
            #expect(again.output.hasPrefix("0 published again; 3 were published again before"), "\(again)")
            #expect(again.output.contains("3 would become dead letters again"), "\(again)")
            #expect(try await bed.committedOffsets().values.reduce(0) { $0 + $1.high } == before + 3)
            let entered = try await bed.query(
                "SELECT concat_ws('|', operator, change, subject, shown) FROM console_changes ORDER BY id"
            ) { rows in (0..<rows.count).map { rows.text($0, 0) } }
            #expect(entered == ["ann|redrive-dead-letters|reason bad_signature|3"])
            // Workers read the redriven records, answer each record, and write no new dead letter.
            try bed.startWorker()
            try await bed.outcomes.until("those put back are answered") { content in
                (0..<3).allSatisfy { number in content.events.contains { $0.submissionID == "secret-\(number)" } }
            }
            #expect(bed.outcomes.content.deadLetters.count == 6)
            for letter in bed.outcomes.content.deadLetters {
                let sent = try #require(records.first { $0.key == letter.key })
                #expect(letter.value == sent.value)
                #expect(letter.headers.filter { !$0.name.hasPrefix("dead-letter-") } == sent.headers)
                #expect(letter.headers.count { $0.name == "dead-letter-reason" } == 1)
            }
        }
    }

    @Test("`dead-letters list` names the player, or the record's key if the record has no readable player")
    func deadLetterOwners() async throws {
        try await Testbed.run { bed in
            try bed.startWorker()
            let values = [
                #"{"submission_id": "s-1", "player_id": "player-1", "bundle_id": "com.example.castle"}"#, "no JSON",
            ]
            let records = values.enumerated().map { number, value in
                PlannedRecord(key: Array("key-\(number)".utf8), value: Array(value.utf8), playerID: "-")
            }
            try await bed.submit(records)
            try await bed.outcomes.until("both are set aside") { $0.deadLetters.count == 2 }
            let table = try await Program.run(["dead-letters", "list"], environment: bed.environment())
            let lines = table.output.split(separator: "\n")
            #expect(lines.count { $0.contains("player-1, submission s-1") && !$0.contains("key-0") } == 1, "\(table)")
            #expect(lines.count { $0.contains("key key-1") } == 1, "\(table)")
            let listed = try await Program.run(["dead-letters", "list", "--json"], environment: bed.environment())
            let letters = try #require(try JSONParser.parse(Array(listed.output.utf8)).value["dead_letters"]?.array)
            #expect(Set(letters.map { $0["player_id"]?.string }) == ["player-1", nil], "\(listed)")
            #expect(Set(letters.map { $0["submission_id"]?.string }) == ["s-1", nil], "\(listed)")
        }
    }

    @Test("if Kafka refuses the login, a command exits with 78 and shows the broker's message, but no password")
    func refusedLogIn() async throws {
        let broker = try await RefusingBroker.start(mechanisms: ["PLAIN"])
        let nobody = "http://127.0.0.1:1"
        let environment = [
            "APPLE_VERIFY_RECEIPT_PRODUCTION_URL": nobody, "APPLE_VERIFY_RECEIPT_SANDBOX_URL": nobody,
            "APPLE_SERVER_API_PRODUCTION_URL": nobody, "APPLE_SERVER_API_SANDBOX_URL": nobody,
            "KAFKA_BOOTSTRAP_SERVERS": broker.address,
            "DATABASE_URL": try await SharedServer.makeDatabase(isPrepared: true),
            "KAFKA_PROPERTIES":
                "security.protocol=sasl_plaintext;sasl.mechanism=PLAIN;sasl.username=u;sasl.password=wrong-secret",
        ]
        for call in [
            ["check"], ["dead-letters", "list"], ["dead-letters", "redrive"],
            ["rewind", "--to", "2026-11-01T00:00:00Z"],
        ] {
            let ending = try await Program.run(call, environment: environment)
            let told = ending.output + ending.errors
            #expect(ending.code == 78, "\(call): \(ending)")
            #expect(told.contains("Kafka refuses the settings"), "\(call): \(ending)")
            #expect(told.contains("Invalid username or password"), "\(call): \(ending)")
            #expect(!told.contains("wrong-secret"), "\(call): \(ending)")
        }
        try await broker.shutdown()
    }

    @Test("`dead-letters` and `rewind` exit with 64 for wrong usage, 78 for missing settings, and 69 without Kafka")
    func recoveryCommandFaults() async throws {
        for wrong in [
            ["dead-letters", "list", "--limit", "0"], ["dead-letters", "list", "--reason", "bored"],
            ["dead-letters", "redrive", "--reason", ""], ["rewind"], ["rewind", "--to", "yesterday"],
            ["rewind", "--to", "2026-02-30T00:00:00Z"],
            ["rewind", "--to", "2999-01-01T00:00:00Z"], ["rewind", "--to", "2999-01-01T00:00:00Z", "--dry-run"],
        ] {
            let ending = try await Program.run(wrong)
            #expect(ending.code == 64, "\(wrong): \(ending)")
        }
        let nowhere = [
            "KAFKA_BOOTSTRAP_SERVERS": "127.0.0.1:1", "DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none",
        ]
        for call in [
            ["dead-letters", "list"], ["dead-letters", "redrive"], ["rewind", "--to", "2026-11-01T00:00:00Z"],
        ] {
            let unset = try await Program.run(call)
            #expect(unset.code == 78 && unset.errors.contains("KAFKA_BOOTSTRAP_SERVERS"), "\(call): \(unset)")
            let lost = try await Program.run(call, environment: nowhere)
            #expect(lost.code == 69 && lost.errors.contains("out of reach"), "\(call): \(lost)")
        }
    }

    @Test(
        "`rewind` moves Kafka's offsets and PostgreSQL's checkpoints back, and refuses to do so while workers run",
        .onlyInProcessBroker)
    func rewind() async throws {
        let plan = Plan.genuine(count: 40, players: 10)
        try await Testbed.run { bed in
            let topic = bed.parts.submissionsTopic
            let settings = try Settings.Reader(environment: bed.environment()).read(requiring: [.kafka])
            let moves = (0..<EmbeddedParts.partitions).map { number in
                OffsetRewind.Move(TopicPartition(topic: topic, partition: number), committed: 9, target: 4)
            }
            let checkpoints = PostgresCheckpoints(pool: bed.pool, group: "nobody")
            // The in-process broker accepts a commit from a non-member only for a group that never had a member.
            var other = settings.kafka
            other.groupID = "nobody"
            let properties = KafkaClientProperties(settings: other).consumer
            try await OffsetRewind(
                topic: topic, consumerProperties: properties, checkpoints: checkpoints, log: { _ in }
            ).apply(moves)
            let committed = try await blocking {
                let consumer = try KafkaConsumer(properties: properties, log: { _ in })
                defer { consumer.close() }
                return try consumer.committedMarks(moves.map(\.partition), timeoutMilliseconds: 10_000)
            }
            #expect(committed.count == moves.count && committed.values.allSatisfy { $0 == CommitMark(offset: 4) })
            let stored = try await checkpoints.read(topic: topic, partitions: moves.map(\.partition.partition))
            #expect(stored.checkpoints.count == moves.count)
            #expect(stored.checkpoints.values.allSatisfy { $0.nextOffset == 4 })
            #expect(stored.decidedAgain.isEmpty, "nothing was lost")
            try await OffsetRewind(
                topic: topic, consumerProperties: properties, checkpoints: checkpoints, log: { _ in }
            ).apply(moves, restoredSince: Timestamp(milliseconds: 0))
            let restored = try await checkpoints.read(topic: topic, partitions: moves.map(\.partition.partition))
            #expect(restored.decidedAgain.count == moves.count)
            #expect(restored.decidedAgain.values.allSatisfy { $0.belowOffset == 9 })

            try bed.startWorker()
            try await bed.submit(plan.records)
            try await bed.settle(plan)
            // The in-process broker cannot look up an offset by time, so every partition stays at its offset.
            let planned = try await Program.run(
                ["rewind", "--to", "2026-11-01T00:00:00Z", "--dry-run"], environment: bed.environment())
            #expect(planned.code == 0 && planned.output.contains("nothing was done"), "\(planned)")
            #expect(planned.output.split(separator: "\n").count == moves.count + 1, "\(planned)")
            let member = KafkaClientProperties(settings: settings.kafka).consumer
            let refusal = await #expect(throws: OffsetRewind.Refusal.self) {
                try await OffsetRewind(
                    topic: topic, consumerProperties: member, checkpoints: checkpoints, log: { _ in }
                ).apply(moves)
            }
            let failure = refusal.map { CommandFailure($0) }
            #expect(failure?.code == 1 && failure?.message.contains("stop all") ?? false)
            try await refusedRewind(bed, topic, settings.kafka, moves)
        }
    }

    /// Checks that a refused rewind reports no move as done.
    private func refusedRewind(
        _ bed: Testbed, _ topic: String, _ kafka: KafkaSettings, _ moves: [OffsetRewind.Move]
    ) async throws {
        var joined = kafka
        joined.groupID = "members"
        let properties = KafkaClientProperties(settings: joined).consumer
        let isOver = Shared(false)
        let (joining, joins) = AsyncStream.makeStream(of: Void.self)
        async let membership: Void = blocking {
            let consumer = try KafkaConsumer(properties: properties, log: { _ in })
            defer {
                joins.finish()
                consumer.close()
            }
            let marks = Dictionary(uniqueKeysWithValues: moves.map { ($0.partition, CommitMark(offset: 1_000_000)) })
            try consumer.commit(marks, timeoutMilliseconds: 10_000)
            try consumer.subscribe([topic], rebalance: KafkaConsumer.Rebalance())
            while !isOver.value {
                _ = consumer.poll(timeoutMilliseconds: 100)
                if consumer.memberID != nil { joins.yield() }
            }
        }
        _ = await joining.first { true }
        let ending = try await Program.run(
            ["rewind", "--to", "2026-11-01T00:00:00Z"], environment: bed.environment(["KAFKA_GROUP_ID": "members"]))
        isOver.update { $0 = true }
        try await membership
        #expect(ending.code == 1 && ending.errors.contains("stop all"), "\(ending)")
        #expect(ending.output.isEmpty, "\(ending)")
    }
}
