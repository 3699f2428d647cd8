import AppStoreSimulation
import BackOffice
import Encodings
import Foundation
import Fulfillment
import Kafka
import Pipeline
import Postgres

/// Submits all cases, round by round, and compares the events with the expected ones.
struct SeedReplay {
    /// The longest time of a round in seconds. A round ends earlier if all answers have arrived.
    static let roundSeconds = 30.0

    struct Result: Sendable {
        let seed: SeedCase
        /// The events of the case in the order of publishing, each event id once in a round.
        let events: [JSONValue]
        let deadLetters: Int
        /// The differences from the expected events; empty if there are none.
        let differences: [String]
    }

    let cases: [SeedCase]
    let producer: KafkaProducer
    let collector: OutcomeCollector
    let submissionsTopic: String
    let notificationsTopic: String
    let accountsTopic: String
    /// Returns the number of notifications that the worker has processed. Most notifications cause no event.
    let notificationsDone: () async throws -> Int64
    let database: PostgresPool
    let apple: AppStoreSimulation

    /// - Parameter progress: called with the number of answers so far, and the number of expected answers.
    func run(progress: (_ done: Int, _ total: Int) -> Void) async throws -> [Result] {
        let rounds = cases.map(\.records.count).max() ?? 0
        let total = cases.reduce(0) { $0 + $1.answers.reduce(0) { $0 + $1.count } + $1.deadLetters.count }
        var marks: [[String: Int]] = []
        var notifications: Int64 = 0
        for round in 0..<rounds {
            marks.append(collector.collected.events.mapValues(\.count))
            for seed in cases where round < seed.records.count {
                try await submit(seed.records[round])
                if seed.records[round].destination == .notifications { notifications += 1 }
            }
            let deadline = Date(timeIntervalSinceNow: Self.roundSeconds)
            while Date.now < deadline {
                progress(min(total, answered(marks)), total)
                if cases.allSatisfy({ isAnswered($0, through: round, marks) }),
                    try await notificationsDone() >= notifications
                {
                    break
                }
                try await Task.sleep(for: .milliseconds(20))
            }
        }
        // Within this time, events and dead letters that no case expects may still arrive.
        try await Task.sleep(for: .milliseconds(300))
        progress(total, total)
        return cases.map { result(of: $0, marks) }
    }

    private func submit(_ record: SeedRecord) async throws {
        if let decision = record.decision { return try await decision.apply(in: database) }
        _ = try await producer.send(
            ProducerRecord(
                topic: topic(of: record), partition: nil, key: record.key,
                value: record.value, headers: record.headers, timestampMilliseconds: nil))
    }

    private func topic(of record: SeedRecord) -> String {
        switch record.destination {
        case .submissions: submissionsTopic
        case .notifications: notificationsTopic
        case .accounts: accountsTopic
        }
    }

    /// Returns the events of one round, each event id once.
    private func events(of seed: SeedCase, round: Int, _ marks: [[String: Int]]) -> [JSONValue] {
        let all = collector.collected.events[seed.name] ?? []
        let start = min(all.count, marks[round][seed.name] ?? 0)
        let end = round + 1 < marks.count ? min(all.count, marks[round + 1][seed.name] ?? 0) : all.count
        var seen: Set<String> = []
        return all[start..<max(start, end)].filter { seen.insert($0["event_id"]?.string ?? "").inserted }
    }

    private func isAnswered(_ seed: SeedCase, through round: Int, _ marks: [[String: Int]]) -> Bool {
        guard round < seed.answers.count || !seed.deadLetters.isEmpty else { return true }
        let isComplete =
            round >= seed.answers.count || events(of: seed, round: round, marks).count >= seed.answers[round].count
        let deadLetters = collector.collected.deadLetters[seed.name]?.count ?? 0
        // A dead letter does not show its round. So all dead letters must have arrived by the end of the last round.
        return isComplete && (round + 1 < seed.records.count || deadLetters >= seed.deadLetters.count)
    }

    private func answered(_ marks: [[String: Int]]) -> Int {
        cases.reduce(0) { sum, seed in
            let events = (0..<min(marks.count, seed.answers.count)).reduce(0) {
                $0 + min(seed.answers[$1].count, self.events(of: seed, round: $1, marks).count)
            }
            return sum + events + min(seed.deadLetters.count, collector.collected.deadLetters[seed.name]?.count ?? 0)
        }
    }

    /// Returns `actual` in another order: subscription changes are where `expected` has subscription changes. Changes
    /// keep their order, and so do the other events. A worker grants a notification's purchase in a later SQL
    /// transaction, so a change may come before or after another event.
    private static func inTurn(_ actual: [JSONValue], as expected: [JSONValue]) -> [JSONValue] {
        func isChange(_ event: JSONValue) -> Bool { event["type"]?.string == "subscription.changed" }
        guard actual.count(where: isChange) == expected.count(where: isChange), actual.count == expected.count else {
            return actual
        }
        var (changes, others) = (actual.filter(isChange).makeIterator(), actual.filter { !isChange($0) }.makeIterator())
        return expected.compactMap { isChange($0) ? changes.next() : others.next() }
    }

    private func result(of seed: SeedCase, _ marks: [[String: Int]]) -> Result {
        var differences: [String] = []
        let rounds = seed.records.indices.map { events(of: seed, round: $0, marks) }
        for (round, actual) in rounds.enumerated() {
            let expected = round < seed.answers.count ? seed.answers[round] : []
            let actual = Self.inTurn(actual, as: expected)
            if actual.count != expected.count {
                differences.append("round \(round): \(actual.count) events, expected \(expected.count)")
            }
            for (index, event) in expected.enumerated() where index < actual.count {
                if let difference = SubsetMatch.difference(actual[index], from: event) {
                    differences.append("round \(round), event \(index): \(difference)")
                }
                if case .array(let place)? = event["same_event_as"], place.count == 2,
                    case (.number(let first), .number(let second)) = (place[0], place[1]),
                    let earlier = Int(first), let position = Int(second), earlier < rounds.count,
                    position < rounds[earlier].count, rounds[earlier][position]["event_id"] != actual[index]["event_id"]
                {
                    differences.append("round \(round), event \(index): not the event of round \(earlier)")
                }
            }
        }
        let deadLetters = collector.collected.deadLetters[seed.name] ?? []
        let reasons = deadLetters.map { StoredDeadLetter($0).reason }
        let expectedReasons = seed.deadLetters.map { $0["reason"]?.string ?? "" }
        if reasons != expectedReasons {
            differences.append("dead letters are \(reasons), expected \(expectedReasons)")
        }
        if let expected = seed.appleRequests {
            let requests =
                seed.receipts.reduce(0) { $0 + apple.requests(receiptData: $1) }
                + seed.transactions.reduce(0) { $0 + apple.requests(transactionID: $1) }
            if requests != expected { differences.append("Apple was asked \(requests) times, expected \(expected)") }
        }
        return Result(
            seed: seed, events: rounds.flatMap { $0 }, deadLetters: deadLetters.count, differences: differences)
    }
}
