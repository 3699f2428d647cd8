import EmbeddedPostgres
import Foundation
import Kafka
import Postgres
import TestSupport
import Testing

@testable import Demo

extension EndToEnd {
    @Test(
        "after a restore of an earlier data directory on the same timeline, the worker makes all lost grants again",
        .disabled(if: ChaosFault.pending.contains(.databasePutBack), "the worker does not withstand it yet"),
        arguments: [true, false])
    func putBack(whileMoreComes: Bool) async throws {
        let plan = Plan.genuine(count: 70, players: 20)
        let rest = 10
        try await Testbed.run(on: .ownServer) { bed in
            let server = try #require(bed.parts.postgres)
            let worker = try bed.startWorker()
            var feed = Feed(bed: bed, plan: plan)
            try await feed.send(20)
            try await eventually("the first are done") {
                try await bed.lag() == 0 && bed.outcomes.content.answers.count == 20
            }
            try await blocking {
                server.stopServer()
                try server.keepCopy()
                try server.startServer()
            }
            try await feed.send(plan.records.count - 20 - rest)
            try await eventually("those that will be lost are done") {
                try await bed.lag() == 0 && bed.outcomes.content.answers.count == plan.records.count - rest
            }
            let events = bed.outcomes.content.answers
            try await blocking {
                server.stopServer()
                try server.putCopyBack()
                try server.startServer()
            }
            if whileMoreComes { try await feed.send(rest) }
            try await eventually("every grant is in the ledger") {
                // The first query may use a connection that the restore closed.
                let granted = try? await bed.query("SELECT count(*) FROM grants") { $0.int8(0, 0) }
                return granted == Int64(feed.places.count)
            }
            if !whileMoreComes { try await feed.send(rest) }
            try await bed.settle(plan)
            // Workers decide again at a later time. Event ids and owners stay the same as before the restore. The
            // events' bytes differ.
            let grants = try await Checker(bed: bed, plan: plan).grants()
            #expect(Set(grants.keys) == plan.certainGrants)
            #expect(bed.outcomes.content.answers.values.allSatisfy { $0.count == 1 })
            for (submission, ids) in events { #expect(bed.outcomes.content.answers[submission] == ids) }
            #expect(worker.process.isRunning)
        }
    }
}
