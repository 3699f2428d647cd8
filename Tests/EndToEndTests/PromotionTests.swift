import AppStoreSimulation
import EmbeddedPostgres
import Foundation
import Kafka
import Postgres
import TestSupport
import Testing

@testable import Demo

extension EndToEnd {
    @Test(
        "if workers commit decisions on the old primary after a promotion, workers decide again on the promoted server",
        .disabled(if: ChaosFault.pending.contains(.databasePromoted), "the worker does not withstand it yet"))
    func promotionWithoutFence() async throws {
        let plan = Plan.genuine(count: 140, players: 50)
        try await Testbed.run(on: .ownServer, latency: .fixed(20)) { bed in
            let old = try #require(bed.parts.postgres)
            let proxy = try await TCPProxy.start(to: old.port)
            let worker = try bed.startWorker([
                "DATABASE_URL": bed.databaseURL.replacing(":\(old.port)/", with: ":\(proxy.port)/")
            ])
            var feed = Feed(bed: bed, plan: plan)
            try await feed.send(40)
            try await eventually("the first are done") {
                try await bed.lag() == 0 && bed.outcomes.content.answers.count == 40
            }
            let promoted = try await blocking { try old.startStandby() }
            do {
                try await blocking { try promoted.promote() }
                try await proxy.setTarget(port: promoted.port)
                // The test ends the sessions one at a time, so that the workers have sessions with both servers.
                while feed.places.count < plan.records.count {
                    try await feed.sendAndAwaitProgress(20)
                    try await bed.pool.run { session in
                        try session.run(
                            script: """
                                SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                                WHERE application_name = 'receiptd' ORDER BY random() LIMIT 1
                                """)
                    }
                }
                try await bed.outcomes.until("all are answered") { bed.isAnswered(plan, in: $0) }
                // Workers commit offsets every second.
                try await last(.seconds(2))
                try await blocking { old.stopServer() }
                try await eventually("every grant is in the promoted one") {
                    try await Self.grants(of: promoted) == Int64(plan.certainGrants.count)
                }
                #expect(bed.outcomes.content.answers.values.allSatisfy { $0.count == 1 })
                #expect(worker.process.isRunning)
            } catch {
                await Self.end(promoted, proxy)
                throw error
            }
            await Self.end(promoted, proxy)
        }
    }

    private static func grants(of server: EmbeddedPostgres) async throws -> Int64? {
        let found = Locked<Int64?>(nil)
        try await Seeds.withPool(server.uri) { pool in
            found.value = try await pool.run { session in
                try session.execute(PostgresStatement("SELECT count(*) FROM grants")).int8(0, 0)
            }
        }
        return found.value
    }

    private static func end(_ server: EmbeddedPostgres, _ proxy: TCPProxy) async {
        _ = try? await blocking { server.stop() }
        await proxy.stop()
    }
}
