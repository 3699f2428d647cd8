import AppStoreSimulation
import Encodings
import Foundation
import Fulfillment
import Kafka
import TestSupport
import Testing

@testable import Administration
@testable import Demo

extension EndToEnd {
    @Test("`receiptd inspect` shows a waiting submission with lag and Apple's state, and a local rejection as refused")
    func inspecting() async throws {
        try await Testbed.run { bed in
            let names = Inspector.names
            var stray = try Inspector.record("p-stray", "bm90IGEgcmVjZWlwdA==")
            stray.key = Array("another".utf8)
            // The worker cannot check the signature of an iOS 6 receipt, so it must ask Apple.
            try await bed.submit([
                stray,
                Inspector.record(names[0], Receipts.single("9000000000001")),
                Inspector.record(names[1], "bm90IGEgcmVjZWlwdA=="),
            ])
            let inspector = Inspector(environment: bed.environment())
            // No worker has polled the records yet, so none is rejected.
            for id in names + names.map({ "s-\($0)" }) + ["9000000000001"] {
                let ending = try await inspector.inspect(id)
                #expect(ending.output.hasPrefix("not decided yet: submission "), "\(id): \(ending)")
                #expect(!ending.output.contains("refused"), "\(id): \(ending)")
                #expect(ending.output.contains("the partition's lag is "), "\(id): \(ending)")
            }
            let astray = try await inspector.inspect("p-stray").output
            #expect(astray.contains("the partition's lag is ") && astray.contains("its key is not the player's id"))

            try await bed.apple.setOutage(.refuse)
            let worker = try bed.startWorker()
            // Failures of a single player's submissions would not count as trouble at Apple, so many players submit.
            try await bed.submit(Plan.genuine(count: 60, players: 60).records)
            let http = ["HTTP_PORT": "\(try await worker.port())"]
            try await bed.outcomes.until("the junk is refused") { $0.answers["s-p-junk"] != nil }
            for id in ["p-junk", "s-p-junk"] {
                let ending = try await inspector.inspect(id)
                #expect(ending.output.hasPrefix("refused without asking Apple: submission \"s-p-junk\""), "\(ending)")
                #expect(ending.output.contains("malformed_receipt"), "\(ending)")
                #expect(!ending.output.contains("not decided yet"), "\(ending)")
            }
            try await eventually("Apple is away") {
                try await !AppleWord.troubles(inMetrics: worker.get("/metrics").body).isEmpty
            }
            let waiting = try await inspector.inspect(names[0], http)
            #expect(waiting.output.hasPrefix("not decided yet: submission "), "\(waiting)")
            #expect(waiting.output.contains("requests to Apple are held back after failures"), "\(waiting)")
            try await inspector.expectDocuments()
            try await inspector.expectWhatIsNotKnown()

            try await bed.apple.setOutage(nil)
            try await bed.outcomes.until("it is granted") { $0.answers["s-\(names[0])"] != nil }
            let granted = try await inspector.inspect(names[0])
            #expect(granted.output.contains("grants (1)") && !granted.output.contains("not decided yet"), "\(granted)")
        }
    }

    @Test("`receiptd inspect` computes a player's partition as Kafka's Java partitioner does")
    func partitions() {
        for length in 0..<40 {
            let key = (0..<length).map { _ in UInt8.random(in: .min ... .max) }
            for count in [1, 4, 12, 64] {
                #expect(
                    RecordPartition.of(key, count: count) == Murmur2.partition(of: key, count: Int32(count)), "\(key)")
            }
        }
    }
}

/// Runs `receiptd inspect` for two players. One player's submission waits for Apple. The other player's receipt is
/// junk.
private struct Inspector {
    static let names = ["inspect/\"wäit\"", "p-junk"]

    let environment: [String: String]

    static func record(_ player: String, _ receipt: String) throws -> PlannedRecord {
        let value = try JSONSerialization.data(withJSONObject: [
            "submission_id": "s-\(player)", "player_id": player, "bundle_id": Receipts.castle,
            "receipt_data": receipt,
        ])
        return PlannedRecord(key: Array(player.utf8), value: Array(value), playerID: player)
    }

    func inspect(_ id: String, _ more: [String: String] = [:]) async throws -> EndedProgram {
        let ending = try await Program.run(["inspect", id], environment: environment.merging(more) { $1 })
        #expect(ending.code == 0, "\(ending)")
        // `inspect` cuts no line if its output is a pipe.
        #expect(!ending.output.contains("…"), "\(ending)")
        return ending
    }

    func expectDocuments() async throws {
        let document = try await Program.run(["inspect", Self.names[0], "--json"], environment: environment)
        let json = try JSONParser.parse(Array(document.output.utf8.dropLast())).value
        #expect(json["undecided"]?.array?.first?["submission_id"]?.string == "s-\(Self.names[0])", "\(document)")
        #expect(json["undecided"]?.array?.first?["lag"] != nil && json["answers_on_topic"]?.array?.isEmpty == true)
        let junk = try await Program.run(["inspect", "p-junk", "--json"], environment: environment)
        let found = try JSONParser.parse(Array(junk.output.utf8.dropLast())).value
        // Once PostgreSQL has the refusal, `inspect` leaves out the event on the topic.
        let told = ["answers_on_topic", "local_refusals"].flatMap { found[$0]?.array ?? [] }
        #expect(told.map { $0["reason"]?.string } == ["malformed_receipt"], "\(junk)")
    }

    func expectWhatIsNotKnown() async throws {
        let unknown = try await inspect("nobody-knows")
        #expect(
            unknown.output.hasPrefix("receiptd knows nothing of \"nobody-knows\"\nsearched in Kafka: "), "\(unknown)")
        let blind = try await inspect("p-junk", ["KAFKA_BOOTSTRAP_SERVERS": ""])
        #expect(blind.output.contains("KAFKA_BOOTSTRAP_SERVERS is not set"), "\(blind)")
        #expect(blind.output.contains("more submissions may wait in Kafka"), "\(blind)")
        let away = try await inspect("p-junk", ["KAFKA_BOOTSTRAP_SERVERS": "127.0.0.1:1"])
        #expect(away.output.contains("Kafka at 127.0.0.1:1: "), "\(away)")
    }
}
