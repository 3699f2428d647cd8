import Fulfillment
import Testing

@testable import Pipeline

@Suite("The look for what a database lacks")
struct LossSearchTests {
    @Test(
        "a partition whose checkpoint is behind Kafka's offset is lost, whoever owns it; one without a checkpoint may be new"
    )
    func lost() {
        func checkpoint(_ offset: Int64) -> OffsetCheckpoint {
            OffsetCheckpoint(nextOffset: offset, writer: 1, version: 1)
        }
        let stored = StoredCheckpoints(
            history: DatabaseHistory("1/2/3"), checkpoints: [0: checkpoint(10), 1: checkpoint(9), 2: checkpoint(12)],
            departures: [:])
        #expect(LossSearch.lost([0: 10, 1: 10, 2: 10, 3: 10], stored) == [1: 10])
    }
}
