import Foundation
import Kafka
import Postgres
import Synchronization
import TestSupport

@testable import Demo

extension Testbed {
    /// Publishes the records in order. Returns the partition and offset of each record.
    @discardableResult
    func submit(_ records: some Collection<PlannedRecord>, partition: Int32? = nil) async throws -> [Delivery] {
        let places = Mutex<[Delivery?]>(Array(repeating: nil, count: records.count))
        let failures = Mutex<[KafkaError]>([])
        let reports = DispatchGroup()
        for (index, record) in records.enumerated() {
            reports.enter()
            try producer.produce(
                ProducerRecord(
                    topic: parts.submissionsTopic, partition: partition, key: record.key, value: record.value,
                    headers: record.headers, timestampMilliseconds: record.timestampMilliseconds)
            ) { result in
                switch result {
                case .success(let delivery): places.withLock { $0[index] = delivery }
                case .failure(let error): failures.withLock { $0.append(error) }
                }
                reports.leave()
            }
        }
        await withCheckedContinuation { continuation in
            reports.notify(queue: .global()) { continuation.resume() }
        }
        if let failure = failures.withLock({ $0.first }) { throw failure }
        let known = places.withLock { $0.compactMap { $0 } }
        self.places.withLock { $0 += known }
        return known
    }

    /// Returns once every record is answered and committed, and the outbox is empty. Throws `DeadlinePassed` after the
    /// limit.
    func settle(_ plan: Plan, within limit: Duration = .seconds(90)) async throws {
        do {
            try await outcomes.until("every submission is answered", within: limit) { isAnswered(plan, in: $0) }
        } catch let passed as DeadlinePassed {
            let content = outcomes.content
            let missing = plan.truths.keys.filter { content.answers[$0] == nil }.sorted()
            var told = "\(passed) (\(unanswered(plan)) are missing, such as \(missing.prefix(3)))"
            if let first = missing.first { told += "\n" + (await trace(of: first, in: plan)) }
            throw DeadlinePassed(description: told)
        }
        try await eventually("the outbox is empty", within: limit) {
            try await query("SELECT count(*) FROM outbox") { $0.int8(0, 0) } == 0
        }
        try await eventually("no partition lags", within: limit) { try await lag() == 0 }
    }

    /// Returns true if `unanswered` would return 0. Most calls come early, and only compare the numbers of answers.
    func isAnswered(_ plan: Plan, in content: OutcomeLog.Content) -> Bool {
        content.answers.count >= plan.truths.count && unanswered(plan, in: content) == 0
    }

    func isAnswered(_ plan: Plan) -> Bool { isAnswered(plan, in: outcomes.content) }

    /// Returns the number of submissions without their full set of events plus the number of missing dead letters.
    func unanswered(_ plan: Plan) -> Int { unanswered(plan, in: outcomes.content) }

    func unanswered(_ plan: Plan, in content: OutcomeLog.Content) -> Int {
        let submissions = plan.truths.count { id, truth in
            guard let answers = content.answers[id] else { return true }
            return !truth.alternatives.contains { $0.count <= answers.count }
        }
        // The topic may have a dead letter more than once.
        let buried = Set(content.deadLetters.map { DeadLetterPlace($0) }).count
        return submissions + max(0, plan.deadLetters.count - buried)
    }

    /// Returns the number of records between the group's committed offsets and the ends of the partitions.
    func lag() async throws -> Int64 {
        let committed = try await committedOffsets()
        return committed.values.reduce(0) { $0 + $1.high - ($1.committed ?? 0) }
    }

    func committedOffsets() async throws -> [Int32: (committed: Int64?, low: Int64, high: Int64)] {
        let parts = parts
        return try await blocking {
            var properties = parts.kafkaProperties
            properties["group.id"] = parts.groupID
            let consumer = try KafkaConsumer(properties: properties, log: { _ in })
            defer { consumer.close() }
            let partitions = (0..<parts.partitionCount).map {
                TopicPartition(topic: parts.submissionsTopic, partition: $0)
            }
            let committed = try consumer.committed(partitions, timeoutMilliseconds: 10_000)
            var all: [Int32: (committed: Int64?, low: Int64, high: Int64)] = [:]
            for partition in partitions {
                let marks = try consumer.watermarks(partition, timeoutMilliseconds: 10_000)
                all[partition.partition] = (committed[partition].flatMap { $0 < 0 ? nil : $0 }, marks.low, marks.high)
            }
            return all
        }
    }
}

/// The position of the record from which a dead letter comes. Dead letters of one position are copies.
struct DeadLetterPlace: Hashable {
    let partition: String
    let offset: String

    init(_ record: ConsumerRecord) {
        func text(_ name: String) -> String {
            record.headers.last { $0.name == name }?.value.map { String(decoding: $0, as: UTF8.self) } ?? ""
        }
        partition = text("dead-letter-partition")
        offset = text("dead-letter-offset")
    }
}
