import AppStoreSimulation
import Foundation
import Kafka
import TestSupport
import Testing

@testable import Demo

extension EndToEnd {
    @Test(
        "despite twenty kills, workers lose no submission, grant none twice, and ask Apple about no decided submission",
        .takesLong)
    func kills() async throws {
        let seed = UInt64.random(in: 1...999_999)
        print("kills: seed \(seed)")
        var random = SeededRandom(seed: seed)
        let rounds = 20
        let plan = TrafficGenerator.plan(seed: seed, count: 4_000)
        let settings = ["APPLE_MAX_CONCURRENCY": "16", "MAX_IN_FLIGHT": "200"]
        try await Testbed.run(latency: .uniform(5, 120), settings: settings) { bed in
            // Submissions may be parked: after several kills without progress a worker isolates records, and parks one
            // if Apple's answer is doubtful.
            try await bed.recordParked()
            var workers = [try bed.startWorker(), try bed.startWorker()]
            var feed = Feed(bed: bed, plan: plan)
            var repetitions = RepetitionCheck(plan: plan)
            try await feed.send(plan.records.count / 4)
            for round in 0..<rounds {
                try await feed.send(plan.records.count * 3 / 4 / rounds + 1)
                let check = CommitCheck(bed: bed, plan: plan, places: feed.places)
                // In every second round the kill comes while the worker decides records. In the other rounds the kill
                // may come at any time, even before the worker has joined its group.
                if round.isMultiple(of: 2) {
                    let before = bed.outcomes.content.events.count
                    try await eventually("records are taken, round \(round)") {
                        bed.outcomes.content.events.count > before || bed.isAnswered(plan)
                    }
                }
                try await last(.milliseconds(Int.random(in: 50...1500, using: &random)))
                let decided = try await check.decidedRecords()
                repetitions.note(feed.places.indices.filter { decided.contains(CommitCheck.Place(feed.places[$0])) })
                let victim = Int.random(in: 0...1, using: &random)
                try await workers[victim].kill()
                expectNone(try await check.problems(), "round \(round)")
                workers[victim] = try bed.startWorker()
            }
            try await feed.send(plan.records.count)
            try await bed.settle(plan, within: .seconds(180))
            let problems = try await Checker(
                bed: bed, plan: plan, appleConcurrency: 2 * 16, parkedOnce: bed.parkedOnce()
            ).problems()
            #expect(problems.isEmpty, "seed \(seed): \(problems.prefix(20))")
            let repeated = repetitions.problems(bed.apple.requestLog)
            #expect(repeated.isEmpty, "seed \(seed): \(repeated.count), \(repeated.prefix(10))")
        }
    }
}
