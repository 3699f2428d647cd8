import Kafka
import Testing

@testable import Pipeline

@Suite("The moves of offsets by `receiptd rewind`")
struct OffsetRewindTests {
    private let partition = TopicPartition(topic: "receipt-submissions", partition: 3)

    @Test("`receiptd rewind` moves an offset back, never forward")
    func back() {
        let back = OffsetRewind.Move(partition, committed: 100, target: 40)
        #expect(back.to == 40 && back.count == 60)
        let ahead = OffsetRewind.Move(partition, committed: 100, target: 140)
        #expect(ahead.to == 100 && ahead.count == 0)
        let fresh = OffsetRewind.Move(partition, committed: nil, target: 40)
        #expect(fresh.to == nil && fresh.count == 0)
    }

    @Test("`receiptd rewind` describes the move of each partition's offset, and the number of records")
    func words() {
        let back = OffsetRewind.Move(partition, committed: 100, target: 40)
        #expect(back.description == "partition 3: 100 → 40, 60 records")
        #expect(OffsetRewind.Move(partition, committed: 7, target: 9).description == "partition 3: stays at 7")
        #expect(OffsetRewind.Move(partition, committed: nil, target: 9).description.contains("no committed offset"))
    }
}
