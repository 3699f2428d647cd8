import AppStoreSimulation
import Foundation
import Postgres
import Testing

@testable import Demo

extension EndToEnd {
    /// Two in-process brokers, one after the other, simulate a topic that was deleted and created again.
    @Test(
        "workers read a recreated submissions topic from the beginning, even if they cannot write checkpoints at first",
        .onlyInProcessBroker,
        .disabled(if: ChaosFault.pending.contains(.databasePutBack), "the worker does not withstand it yet"))
    func newTopic() async throws {
        let before = Plan.genuine(count: 40, players: 40)
        try await Testbed.run { bed in
            let worker = try bed.startWorker()
            try await bed.submit(before.records)
            try await bed.settle(before)
            worker.process.terminate()
            #expect(try await worker.ending() == 0)
            try await Testbed.run(on: .existing(bed.databaseURL)) { bed in
                var plan = Plan()
                for number in 0..<40 { plan.addGenuine(5000 + number, player: "later-\(number)") }
                try await refuseCheckpoints(true, in: bed)
                try await bed.apple.setOutage(.hang)
                try await bed.submit(plan.records)
                let first = try bed.startWorker()
                await bed.apple.waitUntil { $0.requests > 0 }
                // Workers would commit offsets every second, but no record is decided.
                try await last(.seconds(3))
                try await first.kill()
                for (partition, marks) in try await bed.committedOffsets() {
                    #expect(marks.committed ?? 0 == 0, "partition \(partition) is committed undecided")
                }
                try await refuseCheckpoints(false, in: bed)
                try await bed.apple.setOutage(nil)
                try bed.startWorker()
                try await bed.settle(plan)
                let granted = try await bed.query("SELECT count(*) FROM grants") { $0.int8(0, 0) }
                #expect(granted == Int64(before.certainGrants.count + plan.certainGrants.count))
            }
        }
    }

    private func refuseCheckpoints(_ isRefusing: Bool, in bed: Testbed) async throws {
        try await bed.pool.run { session in
            try session.run(
                script: isRefusing
                    ? """
                    CREATE FUNCTION refuse_checkpoint() RETURNS trigger LANGUAGE plpgsql AS $$
                    BEGIN RAISE EXCEPTION 'no space left on device' USING ERRCODE = '53100'; END $$;
                    CREATE TRIGGER refuse_checkpoint BEFORE INSERT OR UPDATE ON offset_checkpoints
                    FOR EACH ROW EXECUTE FUNCTION refuse_checkpoint()
                    """
                    : "DROP FUNCTION refuse_checkpoint CASCADE")
        }
    }
}
