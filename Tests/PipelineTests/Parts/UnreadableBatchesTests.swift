import Kafka
import Testing

@testable import Pipeline

@Suite("Suspicion of unreadable batches")
struct UnreadableBatchesTests {
    private let partition = TopicPartition(topic: "t", partition: 1)
    private let other = TopicPartition(topic: "t", partition: 2)

    private func place(_ offset: Int64, of partition: TopicPartition? = nil) -> KafkaError.Place {
        KafkaError.Place(topicPartition: partition ?? self.partition, offset: offset)
    }

    @Test("after three consecutive failures at one offset, the worker suspects an unreadable batch")
    func again() {
        var batches = UnreadableBatches()
        #expect(batches.failed(place(7), next: 9) == nil)
        #expect(batches.failed(place(7), next: 9) == nil)
        batches.progressed(partition)
        #expect(batches.failed(place(7), next: 9) == nil)
        #expect(batches.failed(place(8), next: 9) == nil)
        #expect(batches.failed(place(7), next: 9) == nil)
        #expect(batches.failed(place(7), next: 9) == nil)
        // The suspicion names the next offset to read, which may be within the batch.
        let suspicion = UnreadableBatches.Suspicion(partition: partition, offset: 9)
        #expect(batches.failed(place(7), next: 9) == suspicion)
        // The worker examines one partition at a time.
        for _ in 0..<5 { #expect(batches.failed(place(3, of: other), next: nil) == nil) }
        batches.examined(suspicion)
        #expect(
            batches.failed(place(3, of: other), next: nil) == UnreadableBatches.Suspicion(partition: other, offset: 3))
    }

    @Test(
        "if no record comes for 30 s before the log's end, the worker suspects an unreadable batch, but not in a pause")
    func standstill() {
        var batches = UnreadableBatches()
        func look(_ next: Int64?, _ now: Double, end: Int64? = 10, mayCome: Bool = true) -> UnreadableBatches.Suspicion?
        {
            batches.look(at: partition, next: next, end: end, mayCome: mayCome, now: now)
        }
        #expect(look(5, 0) == nil)
        #expect(look(6, 29) == nil)
        #expect(look(6, 58) == nil)
        #expect(look(6, 58.5, mayCome: false) == nil)
        #expect(look(6, 59) == nil)
        #expect(look(6, 88) == nil)
        #expect(look(6, 89) == UnreadableBatches.Suspicion(partition: partition, offset: 6))
        // At the log's end, or without a known position, the partition expects no record.
        var quiet = UnreadableBatches()
        for now in stride(from: 0.0, to: 300, by: 1) {
            #expect(quiet.look(at: partition, next: 10, end: 10, mayCome: true, now: now) == nil)
            #expect(quiet.look(at: other, next: nil, end: 10, mayCome: true, now: now) == nil)
        }
    }
}
