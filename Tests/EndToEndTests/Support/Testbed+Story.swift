import Kafka
import Postgres

@testable import receiptd

extension Testbed {
    /// What is known of a submission that was not answered: told by a failing test, so that its run need not be repeated.
    func story(of submissionID: String, in plan: Plan, places: [Delivery]) async -> String {
        var lines: [String] = []
        let offsets = (try? await committedOffsets()) ?? [:]
        for (index, record) in plan.records.enumerated() where record.submissionID == submissionID {
            let place = places.indices.contains(index) ? places[index] : nil
            let partition = place.map(\.topicPartition.partition)
            let marks = partition.flatMap { offsets[$0] }
            lines.append(
                "record \(index) at \(partition.map(String.init) ?? "?")/\(place.map { "\($0.offset)" } ?? "?"),"
                    + " committed \(marks?.committed.map { "\($0)" } ?? "none"), end \(marks.map { "\($0.high)" } ?? "?")"
            )
        }
        for table in ["outcomes", "outbox", "parked"] {
            let rows = try? await query("SELECT (to_jsonb(t) - 'submission' - 'event' - 'value')::text FROM \(table) t")
            { rows in
                (0..<rows.count).compactMap { rows.text($0, 0) }
            }
            let own = (rows ?? []).filter { $0.contains("\"\(submissionID)\"") }
            lines.append("\(table): \(rows.map { "\($0.count)" } ?? "unread") rows, of it \(own)")
        }
        for (number, worker) in allWorkers.enumerated() where worker.process.isRunning {
            let page = (try? await worker.get("/metrics").body) ?? ""
            let told = page.split(separator: "\n").filter { line in
                ["receiptd_in_flight", "receiptd_paused", "receiptd_consumer_lag", "receiptd_parked"].contains {
                    line.hasPrefix($0)
                }
            }
            lines.append("worker \(number): \(told.joined(separator: "; "))")
        }
        return lines.joined(separator: "\n")
    }
}
