import AppStoreSimulation
import Encodings
import Foundation
import Fulfillment
import Kafka
import TestSupport
import Testing

@testable import Demo

extension EndToEnd {
    @Test("if signing keys are set, workers grant signed submissions, and other records become unchanged dead letters")
    func signedRecords() async throws {
        #expect(Murmur2.hash(Array("foobar".utf8)) == UInt32(bitPattern: -790_332_482), "Java's own test vector")
        let keys = ["first secret", String(repeating: "longer than a block of SHA-256 ", count: 4)]
        let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        var plan = Plan.genuine(count: 60, players: 60)
        for index in plan.records.indices {
            let value = plan.records[index].value ?? []
            plan.records[index].headers = [
                Signing.header(value, key: keys[index % 2]), KafkaHeader(name: "traceparent", value: Array(trace.utf8)),
            ]
            plan.records[index].timestampMilliseconds = 1_790_000_000_000 + Int64(index)
        }
        var forged: [PlannedRecord] = []
        for (index, header) in [
            nil, Signing.header([1], key: keys[0]), KafkaHeader(name: "receiptd-signature", value: nil),
            KafkaHeader(name: "receiptd-signature", value: Array("v1=00".utf8)),
        ].enumerated() {
            var single = Plan()
            single.addGenuine(500 + index, player: "forger")
            var record = single.records[0]
            record.key = Array("forged-\(index)".utf8)
            record.headers =
                [KafkaHeader(name: "note", value: [0, 255]), KafkaHeader(name: "empty", value: nil)]
                + [header].compactMap { $0 }
            forged.append(record)
            plan.deadLetters["forged-\(index)"] = "bad_signature"
        }
        let sent = plan
        let settings = [
            "SUBMISSION_SIGNING_KEYS": keys.joined(separator: ","), "LOCAL_REFUSAL_CHECKS_PER_MINUTE": "0",
            "NOTIFICATION_HISTORY_SECONDS": "0",
            // The test counts requests. With a short time-out, a busy machine would repeat some requests.
            "APPLE_TIMEOUT_SECONDS": "10",
        ]
        try await Testbed.run(settings: settings) { bed in
            try bed.startWorker()
            try await bed.submit(sent.records)
            let places = try await bed.submit(forged)
            try await bed.settle(sent)
            expectNone(try await Checker(bed: bed, plan: sent).problems())
            let content = bed.outcomes.content
            for event in content.events { expectExact(event, trace: trace) }
            #expect(bed.apple.counters.requests == sent.records.count)
            for (record, place) in zip(forged, places) {
                let letters = content.deadLetters.filter { $0.key == record.key }
                #expect(letters.count == 1)
                for letter in letters { expectExact(letter, of: record, at: place, in: bed.parts.submissionsTopic) }
            }
        }
    }

    private func expectExact(_ event: OutcomeLog.Event, trace: String) {
        let headers = event.record.headers.map { "\($0.name)=\(String(decoding: $0.value ?? [], as: UTF8.self))" }
        #expect(
            Set(headers) == [
                "ce_specversion=1.0", "ce_id=\(event.id)", "ce_type=receipt.granted", "ce_source=receiptd",
                "ce_subject=\(event.transactionID ?? "-")", "ce_time=\(event.json["occurred_at"]?.string ?? "-")",
                "content-type=application/json", "traceparent=\(trace)",
            ])
        #expect(headers.count == 8)
        #expect(event.record.key == Array(event.playerID.utf8))
        let partition = Murmur2.partition(of: Array(event.playerID.utf8), count: EmbeddedParts.partitions)
        #expect(event.record.topicPartition.partition == partition)
    }

    private func expectExact(_ letter: ConsumerRecord, of record: PlannedRecord, at place: Delivery, in topic: String) {
        #expect(letter.value == record.value)
        #expect(Array(letter.headers.prefix(record.headers.count)) == record.headers)
        let added = letter.headers.dropFirst(record.headers.count)
        var told = Dictionary(
            added.map { ($0.name, String(decoding: $0.value ?? [], as: UTF8.self)) },
            uniquingKeysWith: { first, _ in first })
        #expect(told.removeValue(forKey: "dead-letter-detail")?.isEmpty == false)
        #expect(
            told == [
                "dead-letter-reason": "bad_signature", "dead-letter-topic": topic,
                "dead-letter-partition": "\(place.topicPartition.partition)", "dead-letter-offset": "\(place.offset)",
            ])
        #expect(added.count == 5)
    }

    @Test("after the import of a new catalog, a running worker grants purchases of an added product")
    func catalogChange() async throws {
        try await Testbed.run { bed in
            try bed.startWorker()
            let product = "com.example.castle.brand.new"
            var probes = Plan()
            probes.addGenuine(0, player: "prober", product: product)
            try await bed.submit(probes.records)
            try await eventually("the unknown product is held") {
                bed.outcomes.events(of: "genuine-0").first?.type == "receipt.held"
            }
            let file = FileManager.default.temporaryDirectory.appendingPathComponent(
                "catalog-\(UUID().uuidString).yaml")
            defer { try? FileManager.default.removeItem(at: file) }
            let gems = "      - product_id: \(Receipts.gems)\n        kind: consumable\n"
            let changed = try Seeds.catalog().replacing(
                gems, with: "      - product_id: \(product)\n        kind: consumable\n" + gems, maxReplacements: 1)
            try changed.write(to: file, atomically: true, encoding: .utf8)
            let imported = try await Program.run(["catalog", "import", file.path], environment: bed.environment())
            #expect(imported.code == 0 && imported.output.contains(product), "\(imported)")
            // Each try submits a new purchase, because the earlier purchases stay held.
            var number = 0
            try await eventually("the new product is granted", within: .seconds(10)) {
                number += 1
                var probe = Plan()
                probe.addGenuine(number, player: "prober-\(number)", product: product)
                try await bed.submit(probe.records)
                return bed.outcomes.content.events.contains { $0.type == "receipt.granted" }
            }
        }
    }
}
