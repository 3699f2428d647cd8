import AppStoreSimulation
import Foundation
import Kafka
import Postgres

/// All that a run leaves behind, as plain values: the judge asks nobody and shares no code with the worker.
struct Evidence: Sendable {
    struct Event: Sendable {
        let id: String
        let type: String
        let submissionID: String
        let playerID: String
        let reason: String?
        let transactionID: String?
        let key: [UInt8]
        let value: [UInt8]
        let partition: Int32
        let offset: Int64
    }

    struct Grant: Sendable {
        let transactionID: String
        let playerID: String
        let submissionID: String
        let event: [UInt8]
    }

    struct Request: Sendable {
        let milliseconds: Int64
        let answer: String
    }

    /// While Apple asked to wait, or gave no answer: how many requests it may have seen. Milliseconds.
    struct Quiet: Sendable {
        let from: Int64
        let until: Int64
        let requests: Int
        let name: String
    }

    struct Recovery: Sendable {
        let fault: String
        /// Nil where it never came.
        let seconds: Double?
    }

    /// The most work under way at once, and its limit; and when Apple may hardly be asked.
    struct Load: Sendable {
        var highestAppleConcurrency = 0
        var appleConcurrencyLimit = Int.max
        var highestInFlight = 0
        var inFlightLimit = Int.max
        var quiets: [Quiet] = []
    }

    struct Progress: Sendable {
        var recoveries: [Recovery] = []
        /// The things that did not move although nothing that they need was away.
        var stalls: [String] = []
        /// The things that were not done within the time given after the last fault.
        var unsettled: [String] = []
    }

    /// The rows of PostgreSQL.
    struct Rows: Sendable {
        var grants: [Grant] = []
        var heldTransactions = 0
    }

    /// Apple's announced purchases, and the players who have an unrevoked grant of them.
    struct Told: Sendable {
        var purchases: [ToldPurchases.Purchase] = []
        var inForce: [String: String] = [:]
    }

    var plan = Plan()
    /// The events in the order of each partition, repeats included.
    var events: [Event] = []
    /// Reasons by record key.
    var deadLetters: [String: Set<String>] = [:]
    var rows = Rows()
    var told = Told()
    /// Submissions that were parked once: they come later by themselves.
    var everParked: Set<String> = []
    var requests: [Request] = []
    var load = Load()
    var monitor = ChaosMonitor.Findings()
    var progress = Progress()
    /// Whether the database lost what it had committed.
    var isLossy = false
    var faults: [String] = []
}

extension Evidence {
    var grants: [Grant] { rows.grants }
    var heldTransactions: Int { rows.heldTransactions }
}

extension Evidence.Event {
    /// Whether nobody submitted its purchase.
    var isOfTold: Bool { submissionID.hasPrefix("apple-") }
}

extension Evidence {
    init(_ plan: Plan, from bed: Testbed) async throws {
        self.plan = plan
        let content = bed.outcomes.content
        faults = content.faults
        for event in content.events {
            let value = event.record.value ?? []
            // Foundation's reader, not the project's.
            guard let json = try? JSONSerialization.jsonObject(with: Data(value)) as? [String: Any] else {
                faults.append("an outcome that is no JSON at \(event.record.offset)")
                continue
            }
            func text(_ name: String) -> String? { json[name] as? String }
            events.append(
                Event(
                    id: text("event_id") ?? "-", type: text("type") ?? "-", submissionID: text("submission_id") ?? "-",
                    playerID: text("player_id") ?? "-", reason: text("reason"), transactionID: text("transaction_id"),
                    key: event.record.key ?? [], value: value, partition: event.record.topicPartition.partition,
                    offset: event.record.offset))
        }
        for letter in content.deadLetters {
            let key = letter.key.map { String(decoding: $0, as: UTF8.self) } ?? "-"
            let reason = letter.headers.last { $0.name == "dead-letter-reason" }?.value
            deadLetters[key, default: []].insert(reason.map { String(decoding: $0, as: UTF8.self) } ?? "-")
        }
        rows.grants = try await bed.query("SELECT transaction_id, player_id, submission_id, event FROM grants") {
            rows in
            (0..<rows.count).map { row in
                Grant(
                    transactionID: rows.text(row, 0) ?? "-", playerID: rows.text(row, 1) ?? "-",
                    submissionID: rows.text(row, 2) ?? "-", event: rows.bytes(row, 3) ?? [])
            }
        }
        rows.heldTransactions = Int(try await bed.query("SELECT count(*) FROM holds") { $0.int8(0, 0) ?? -1 })
        requests = bed.apple.requestLog.map { Request(milliseconds: $0.timestampMilliseconds, answer: $0.answer) }
        load.highestAppleConcurrency = bed.apple.counters.maximumConcurrentRequests
    }
}
