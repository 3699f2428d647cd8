import AppStoreSimulation
import Foundation
import Kafka
import Postgres
import TestSupport
import Testing

@testable import Demo
@testable import Pipeline

extension EndToEnd {
    /// The worker's process dies right after it has taken the step `point` for the n-th time. `times` is n.
    struct Crash: Sendable, CustomStringConvertible {
        let point: CrashPoint
        let times: Int

        var description: String { "\(point.rawValue):\(times)" }

        static let all: [Crash] = CrashPoint.ofSubmissions.flatMap { point in
            // Workers commit offsets once a second, for many records together, so a run may have no 17th commit.
            [Crash(point: point, times: 1), Crash(point: point, times: point == .committed ? 2 : 17)]
        }
    }

    struct Ledger: Sendable, Equatable {
        var grants: Set<[String]> = []
        var events: Set<String> = []
        var eventIDCount = 0
    }

    /// Returns an event's name, which is equal in two runs. On a real broker each test has its own topics. There the
    /// name has no id for rejections and holds, whose ids depend on the topic's name.
    private static func name(_ event: OutcomeLog.Event) -> String {
        guard TestBroker.isReal, !["receipt.granted", "receipt.revoked"].contains(event.type) else { return event.id }
        return "\(event.type) \(event.submissionID) \(event.reason ?? "-") \(event.transactionID ?? "-")"
    }

    @Test(
        "if a worker is killed right after any step, grants and events end up the same as without the kill",
        .takesLong)
    func crashPoints() async throws {
        let seed: UInt64 = 20_261_121
        print("crash points: seed \(seed)")
        let plan = TrafficGenerator.plan(seed: seed, count: 70, players: 12, withContests: false)
        let undisturbed = try await ledger(of: plan, crash: nil)
        try await withThrowingTaskGroup(of: Void.self) { group in
            var waiting = Crash.all[...]
            func addNext() {
                guard let crash = waiting.popFirst() else { return }
                group.addTask {
                    let ledger = try await self.ledger(of: plan, crash: crash)
                    #expect(ledger == undisturbed, "after \(crash)")
                }
            }
            // The test does eight runs at a time, because each run mostly waits for its consumer group.
            for _ in 0..<8 { addNext() }
            while try await group.next() != nil { addNext() }
        }
    }

    private func ledger(of plan: Plan, crash: Crash?) async throws -> Ledger {
        var ledger = Ledger()
        try await Testbed.run(latency: .fixed(40)) { bed in
            try await bed.submit(plan.records)
            if let crash {
                let doomed = try bed.startWorker(["RECEIPTD_CRASH_AFTER": "\(crash)"])
                #expect(try await doomed.ending(within: .seconds(90)) == -SIGKILL, "\(crash) is never reached")
            }
            try bed.startWorker()
            do { try await bed.settle(plan, within: .seconds(120)) } catch {
                throw DeadlinePassed(description: "\(crash.map(\.description) ?? "undisturbed"): \(error)")
            }
            let problems = try await Checker(bed: bed, plan: plan).problems()
            #expect(problems.isEmpty, "\(crash.map(\.description) ?? "undisturbed"): \(problems.prefix(10))")
            ledger.events = Set(bed.outcomes.content.events.map { Self.name($0) })
            ledger.eventIDCount = Set(bed.outcomes.content.events.map(\.id)).count
            ledger.grants = try await bed.query(
                """
                SELECT transaction_id, original_transaction_id, player_id, bundle_id, product_id, quantity::text,
                    environment, extract(epoch FROM purchased_at)::text, submission_id, coalesce(revoked_at::text, '')
                FROM grants
                """
            ) { rows in
                Set(
                    (0..<rows.count).map { row in (0..<10).map { rows.text(row, PostgresColumn(place: $0)) ?? "null" } }
                )
            }
        }
        return ledger
    }
}
