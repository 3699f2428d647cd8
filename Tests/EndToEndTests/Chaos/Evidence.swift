import AppStoreSimulation
import Foundation
import Kafka
import Postgres

/// The observations of a run, as plain values. `judged()` reads only these values, and shares no code with the worker.
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
        let api: SimulatedEndpoint
        let answer: String
    }

    /// A span of time, in milliseconds, in which one of Apple's endpoints forbade requests (429) or answered none.
    /// `requests` is the largest number of requests that the workers may send to the endpoint in this time.
    struct Quiet: Sendable {
        let from: Int64
        let until: Int64
        let api: SimulatedEndpoint
        let requests: Int
        let name: String
    }

    struct Recovery: Sendable {
        let fault: String
        /// The seconds until the workers recovered; nil if the recovery took too long.
        let seconds: Double?
    }

    /// The highest numbers of requests and submissions in flight with their limits, and the quiet times.
    struct Load: Sendable {
        var highestAppleConcurrency = 0
        var appleConcurrencyLimit = Int.max
        var highestInFlight = 0
        var inFlightLimit = Int.max
        var quiets: [Quiet] = []
    }

    struct Progress: Sendable {
        var recoveries: [Recovery] = []
        /// The kinds of work that stopped although all services that the work needs answered.
        var stalls: [String] = []
        /// The work that was not finished in time after the last fault.
        var unsettled: [String] = []
    }

    /// The grants and the number of holds in PostgreSQL at the end.
    struct Rows: Sendable {
        var grants: [Grant] = []
        var heldTransactions = 0
    }

    /// The purchases that Apple announced, and the player of each purchase with a valid grant.
    struct Told: Sendable {
        var purchases: [ToldPurchases.Purchase] = []
        var inForce: [String: String] = [:]
    }

    var plan = Plan()
    /// The events in the order of each partition, including repeated ones.
    var events: [Event] = []
    /// The reasons of dead letters, by record key.
    var deadLetters: [String: Set<String>] = [:]
    var rows = Rows()
    var told = Told()
    /// The submissions that were ever parked. The order of their events is not fixed.
    var everParked: Set<String> = []
    var requests: [Request] = []
    var load = Load()
    var monitor = ChaosMonitor.Findings()
    var progress = Progress()
    var isLossy = false
    var faults: [String] = []
}

extension Evidence {
    var grants: [Grant] { rows.grants }
    var heldTransactions: Int { rows.heldTransactions }
}

extension Evidence.Event {
    /// True if the event is about a purchase that nobody submitted.
    var isOfTold: Bool { submissionID.hasPrefix("apple-") }
}

extension Evidence {
    init(_ plan: Plan, from bed: Testbed) async throws {
        self.plan = plan
        let content = bed.outcomes.content
        faults = content.faults
        for event in content.events {
            let value = event.record.value ?? []
            // Foundation parses the JSON here, because the judge must not use the worker's parser.
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
        requests = bed.apple.requestLog.map {
            Request(milliseconds: $0.timestampMilliseconds, api: $0.api, answer: $0.answer)
        }
        load.highestAppleConcurrency = bed.apple.counters.maximumConcurrentRequests
    }
}
