import Kafka
import Postgres

@testable import Demo

extension Testbed {
    /// Returns the facts about an unanswered submission. A failing test prints them, so that nobody has to repeat the
    /// run.
    func trace(of submissionID: String, in plan: Plan) async -> String {
        var lines = plan.records.indices.filter { plan.records[$0].submissionID == submissionID }.map { index in
            let key = plan.records[index].key
            let partition = Murmur2.partition(of: key, count: parts.partitionCount)
            let behind = plan.records[index...].count {
                Murmur2.partition(of: $0.key, count: parts.partitionCount) == partition
            }
            return "record \(index), in partition \(partition) where \(behind - 1) of the plan follow"
        }
        let offsets = (try? await committedOffsets()) ?? [:]
        for (partition, marks) in offsets.sorted(by: { $0.key < $1.key }) {
            lines.append("partition \(partition): committed \(marks.committed ?? -1) of \(marks.high)")
        }
        for table in ["outcomes", "parked"] {
            let rows = try? await query("SELECT to_jsonb(t)::text FROM \(table) t") { rows in
                (0..<rows.count).compactMap { rows.text($0, 0) }
            }
            lines += (rows ?? []).filter { $0.contains("\"\(submissionID)\"") }.map { "\(table): \($0)" }
        }
        for (number, worker) in allWorkers.enumerated() where worker.process.isRunning {
            let page = (try? await worker.get("/metrics").body) ?? ""
            let told = page.split(separator: "\n").filter { line in Self.told.contains { line.hasPrefix($0) } }
            lines.append("worker \(number): \(told.joined(separator: "; "))")
        }
        return lines.joined(separator: "\n")
    }

    private static let told = ["receiptd_in_flight", "receiptd_paused", "receiptd_consumer_lag", "receiptd_parked"]
}
