import AppStoreSimulation
import Foundation
import Kafka
import Postgres
import TestSupport
import Testing

@testable import Demo

extension Chaos {
    private static let outageSeconds = Order.environment["CHAOS_OUTAGE"].flatMap { Int($0) }
    private static let memoryMegabytes = 150
    private static let parkedRows = 1000
    private static let submissionsPerSecond = 500
    /// The in-process broker keeps 5 MB of each partition, which is enough for more than five minutes.
    private static let partitions: Int32 = 32

    /// The default values of settings that other tests shorten.
    private static let defaults = [
        "RETRY_INITIAL_DELAY_SECONDS": "0.5", "RETRY_MAX_DELAY_SECONDS": "300", "RETRY_PARK_AFTER_SECONDS": "30",
        "RETRY_DOUBT_SECONDS": "600", "APPLE_TIMEOUT_SECONDS": "10",
    ]

    @Test(
        "during an outage at Apple at most 1,000 submissions are parked; afterwards the worker grants all purchases",
        .enabled(if: outageSeconds != nil, "by scripts/chaos.sh --outage"))
    func outage() async throws {
        let seconds = try #require(Self.outageSeconds)
        let plan = Plan.genuine(count: Self.submissionsPerSecond * (seconds + 5), players: 5000)
        try await Testbed.run(partitions: Self.partitions, latency: .fixed(50), settings: Self.defaults) { bed in
            let worker = try bed.startWorker()
            var properties = KafkaProperties([("bootstrap.servers", bed.parts.bootstrapServers)])
            // The broker stores batches as it gets them. Large compressed batches leave room for more records.
            properties["compression.type"] = "zstd"
            properties["linger.ms"] = "2000"
            let producer = try KafkaProducer(properties: properties, log: { _ in })
            try await eventually("the worker has partitions") { worker.log.contains("partitions assigned") }
            var figures = Figures()
            var sent = 0
            let began = ContinuousClock.now
            try await bed.apple.setOutage(.http503)
            while sent < plan.records.count {
                let due = min(
                    plan.records.count,
                    Int((ContinuousClock.now - began) / .milliseconds(1)) * Self.submissionsPerSecond / 1000)
                for record in plan.records[sent..<due] {
                    try producer.produce(
                        ProducerRecord(
                            topic: bed.parts.submissionsTopic, partition: nil, key: record.key, value: record.value,
                            headers: [], timestampMilliseconds: nil)
                    ) { _ in }
                }
                sent = due
                if ContinuousClock.now - began > .seconds(seconds), figures.asked == nil {
                    figures.asked = bed.apple.counters.requests
                    try await bed.apple.setOutage(nil)
                }
                try await figures.look(bed, worker)
                try await last(.milliseconds(100))
            }
            let healed = ContinuousClock.now
            while !bed.isAnswered(plan), ContinuousClock.now - healed < .seconds(600) {
                try await figures.look(bed, worker)
                try await last(.milliseconds(500))
            }
            print("chaos: \(seconds) s without Apple at \(Self.submissionsPerSecond) submissions a second: \(figures)")
            print(
                "chaos: all \(sent) answered \((ContinuousClock.now - healed) / .seconds(1)) s after the last was sent")
            try await bed.settle(plan, within: .seconds(30))
            expectNone(try await Checker(bed: bed, plan: plan).problems())
            #expect(figures.parked <= Self.parkedRows)
            if Order.environment["CHAOS_PROGRAM"] != nil { #expect(figures.memory <= Self.memoryMegabytes) }
            _ = try await blocking { producer.close() }
        }
    }

    private struct Figures: CustomStringConvertible {
        var memory = 0
        var parked = 0
        var asked: Int?

        mutating func look(_ bed: Testbed, _ worker: Worker) async throws {
            memory = max(memory, ProcessMemory.highestMegabytes(of: worker.process.processID) ?? 0)
            parked = max(parked, Int(try await bed.query("SELECT count(*) FROM parked") { $0.int8(0, 0) ?? 0 }))
        }

        var description: String {
            "at most \(memory) MB, at most \(parked) parked, Apple was asked \(asked ?? 0) times meanwhile"
        }
    }
}
