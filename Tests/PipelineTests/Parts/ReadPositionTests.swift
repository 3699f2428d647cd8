import Kafka
import Testing

@testable import Pipeline

@Suite("The position up to which a partition is read")
struct ReadPositionTests {
    private let partition = TopicPartition(topic: "t", partition: 1)

    @Test("if the log ends with a transaction marker, the worker has read to the end once the last record is decided")
    func marker() {
        var gate = IntakeGate(maximumRecords: 4)
        gate.assign(partition, waitingFor: [])
        // Offset 9 is the last record, offset 10 the transaction marker.
        _ = gate.take(ConsumerRecord(topicPartition: partition, offset: 9), .unlimited)
        #expect(gate.next(of: partition) == 10)
        gate.ended(partition, at: 11)
        #expect(gate.next(of: partition) == 11)
        // Record 9 is undecided, so the position stays at 9.
        #expect(gate.reached(in: partition, decided: 9) == 9)
        #expect(gate.reached(in: partition, decided: nil) == nil)
        #expect(gate.reached(in: partition, decided: 10) == 11)
        var batches = UnreadableBatches()
        for now in stride(from: 0.0, to: 300, by: 1) {
            let next = gate.next(of: partition)
            #expect(batches.look(at: partition, next: next, end: 11, mayCome: true, now: now) == nil)
        }
        _ = gate.take(ConsumerRecord(topicPartition: partition, offset: 11), .unlimited)
        #expect(gate.next(of: partition) == 12 && gate.reached(in: partition, decided: 10) == 10)
    }

    @Test(
        "if the log ends with a transaction marker, the read position reaches the end, and the offset to commit stays")
    func start() {
        let owner = BatchedTopicPartition(
            progress: PartitionProgress(start: 10, committed: CommitMark(offset: 10), row: nil, writer: 1))
        #expect(owner.reached == 10)
        owner.read.ended(at: 11)
        #expect(owner.reached == 11)
        #expect(owner.progress.position == 10 && owner.progress.committable == 10)
        // Records up to 12 came in the same batch as the end, and are undecided.
        owner.read.came(to: 13)
        owner.read.ended(at: 14)
        #expect(owner.reached == 10)
        owner.progress.admit(12)
        _ = owner.progress.finish(12, epoch: 0, decidedIn: nil)
        #expect(owner.reached == 14 && owner.progress.position == 13)
    }

    @Test("the read position of a recreated topic returns to 0; that of an unassigned partition is the decided offset")
    func anew() {
        var position = ReadPosition()
        #expect(position.reached(decided: nil) == nil && position.reached(decided: 3) == 3)
        position.came(to: 11)
        position.ended(at: 0)
        #expect(position.next == 0 && position.reached(decided: 11) == 0)
        #expect(IntakeGate(maximumRecords: 1).reached(in: partition, decided: 5) == 5)
    }
}
