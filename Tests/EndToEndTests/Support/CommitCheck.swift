import Kafka
import Postgres
import TestSupport

/// Checks that every committed record has a durable outcome.
struct CommitCheck: Sendable {
    let bed: Testbed
    let plan: Plan
    /// The partition and offset of each record, in the order of the plan.
    let places: [Delivery]

    /// Returns a line for each committed record without an outcome. Reads the committed offsets first, because each
    /// outcome must be durable before the record's offset is committed.
    func problems() async throws -> [String] {
        let committed = try await bed.committedOffsets()
        // Parking makes a submission durable too. One statement reads both tables, because a submission moves between
        // them.
        let durable = try await places(in: "\(Self.ofOutcomes) UNION \(Self.ofParked)")
        var open: [Int] = []
        for (index, place) in places.enumerated() {
            guard place.offset < committed[place.topicPartition.partition]?.committed ?? 0 else { continue }
            if !durable.contains(Place(place)) { open.append(index) }
        }
        // No table has a local answer, so the check looks for the answer's event on the topic.
        var problems: [String] = []
        do {
            try await eventually("committed records are answered", within: .seconds(10)) {
                let content = bed.outcomes.content
                let buried = Set(content.deadLetters.map { $0.key ?? [] })
                open.removeAll { index in
                    let record = plan.records[index]
                    let isLocal = record.submissionID.flatMap { plan.truths[$0]?.isLocal } ?? true
                    guard isLocal else { return false }
                    return record.submissionID.map { content.answers[$0] != nil } ?? buried.contains(record.key)
                }
                return open.allSatisfy { plan.records[$0].receipt != nil }
            }
        } catch is DeadlinePassed {}
        problems += open.map {
            "the record at \(places[$0].topicPartition) \(places[$0].offset) was committed undecided"
        }
        return problems
    }

    struct Place: Hashable, Sendable {
        let partition: Int32
        let offset: Int64

        init(_ delivery: Delivery) {
            partition = delivery.topicPartition.partition
            offset = delivery.offset
        }

        init(partition: Int32, offset: Int64) {
            self.partition = partition
            self.offset = offset
        }
    }

    func decidedRecords() async throws -> Set<Place> { try await places(in: Self.ofOutcomes) }

    private static let ofOutcomes = "SELECT source_partition, source_offset FROM outcomes"
    private static let ofParked = "SELECT source_partition, source_offset FROM parked"

    private func places(in statement: String) async throws -> Set<Place> {
        try await bed.query(statement) { rows in
            Set(
                (0..<rows.count).compactMap { row in
                    guard let partition = rows.int4(row, 0), let offset = rows.int8(row, 1) else { return nil }
                    return Place(partition: Int32(partition), offset: offset)
                })
        }
    }
}
