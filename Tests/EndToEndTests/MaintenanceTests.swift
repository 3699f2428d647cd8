import Foundation
import Postgres
import TestSupport
import Testing

@testable import Demo

extension EndToEnd {
    @Test("during a backup a worker starts, decides submissions, and logs that the backup blocks new day partitions")
    func backup() async throws {
        try await Testbed.run { bed in
            // No day has a partition, except one old day whose partition the worker must drop.
            try await Seeds.withPool(bed.databaseURL) { pool in
                try await pool.run { session in
                    try session.run(
                        script: """
                            DO $$
                            DECLARE
                                child regclass;
                            BEGIN
                                FOR child IN SELECT inhrelid::regclass FROM pg_inherits
                                    WHERE inhparent = 'outcomes'::regclass AND inhrelid NOT IN ('outcomes_default'::regclass, 'outcomes_apart'::regclass)
                                LOOP
                                    EXECUTE format('DROP TABLE %s', child);
                                END LOOP;
                            END
                            $$;
                            CREATE TABLE outcomes_20200101 PARTITION OF outcomes
                                FOR VALUES FROM ('2020-01-01') TO ('2020-01-02')
                            """)
                }
            }
            let reader = PostgresPool(
                configuration: PostgresConfiguration(
                    uri: bed.databaseURL, applicationName: "nightly-backup", idleInTransactionTimeoutSeconds: 0),
                size: 1)
            let end = DispatchSemaphore(value: 0)
            let (reading, read) = AsyncStream<Void>.makeStream()
            let backup = Task {
                try await reader.run { session in
                    try session.transaction { session in
                        try session.run(script: "LOCK TABLE outcomes, grants IN ACCESS SHARE MODE")
                        read.finish()
                        end.wait()
                    }
                }
            }
            for await _ in reading {}
            let worker = try bed.startWorker()
            try await eventually("ready") { await worker.isReady() }
            let plan = Plan.genuine(count: 20, players: 5)
            try await bed.submit(plan.records)
            try await bed.settle(plan)
            try await eventually("the log names the backup") {
                worker.log.contains("the tables cannot be maintained")
                    && worker.log.contains("nightly-backup")
            }
            #expect(await worker.isReady())
            let days = try await bed.query("SELECT count(*) FROM pg_inherits WHERE inhparent = 'outcomes'::regclass") {
                $0.int8(0, 0)
            }
            #expect(days == 3)
            end.signal()
            try await backup.value
            await reader.close()
        }
    }
}
