import AppStoreSimulation
import Foundation
import Postgres
import TestSupport
import Testing

@testable import Demo

extension EndToEnd {
    @Test(
        "if a restore of the database loses decisions, workers decide again with the same owners and event ids",
        arguments: [true, false])
    func fallback(whileRunning: Bool) async throws {
        let seed = UInt64.random(in: 1...999_999)
        print("fallback, running \(whileRunning): seed \(seed)")
        let plan = TrafficGenerator.plan(seed: seed, count: 300, players: 40, withContests: false)
        try await Testbed.run(latency: .uniform(1, 40)) { bed in
            let name = try #require(bed.databaseURL.split(separator: "/").last?.removingPercentEncoding)
            var workers = [try bed.startWorker(), try bed.startWorker()]
            var feed = Feed(bed: bed, plan: plan)
            try await feed.send(150)
            try await bed.outcomes.until("half is answered") { $0.answers.count > 80 }
            try await SharedServer.replace("\(name)_before", byCopyOf: name)
            try await feed.send(plan.records.count)
            try await bed.settle(plan)
            let grants = try await Checker(bed: bed, plan: plan).grants()
            let events = Set(bed.outcomes.content.events.map(\.id))

            if !whileRunning {
                for worker in workers {
                    worker.process.terminate()
                    let ending = try await worker.ending()
                    #expect(ending == 0)
                }
            }
            try await SharedServer.replace(name, byCopyOf: "\(name)_before")
            if !whileRunning { workers = [try bed.startWorker(), try bed.startWorker()] }
            try await eventually("what was lost is granted again") {
                // The first query may use a connection that the restore closed.
                let again = try? await Checker(bed: bed, plan: plan).grants()
                return again.map { Set($0.keys) == Set(grants.keys) } ?? false
            }
            try await bed.settle(plan)
            let log = workers.map(\.log).joined()
            #expect(log.contains("the database lacks decisions below the committed offset"))
            #expect(log.contains("the worker leaves the consumer group and joins it again") == whileRunning)
            #expect(Set(bed.outcomes.content.events.map(\.id)) == events)
            let again = try await Checker(bed: bed, plan: plan).grants()
            let owners = grants.mapValues { "\($0.playerID) \($0.submissionID)" }
            let ownersAgain = again.mapValues { "\($0.playerID) \($0.submissionID)" }
            #expect(owners == ownersAgain)
        }
    }
}
