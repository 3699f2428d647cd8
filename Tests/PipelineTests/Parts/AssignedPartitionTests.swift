import Kafka
import Testing

@testable import Pipeline

@Suite("Assigned partition")
struct AssignedPartitionTests {
    private func admit(_ offset: Int64, to partition: AssignedPartition) -> InFlightRecord {
        let item = Sample.inFlight(offset: offset, lap: partition.lap)
        partition.admit(item)
        return item
    }

    @Test("a commit is due once the prefix has moved, and not again")
    func commitDue() {
        let partition = AssignedPartition(assignment: 1, start: 5, committed: CommitMark(offset: 5))
        #expect(partition.due == nil)
        let item = admit(5, to: partition)
        #expect(partition.due == nil)
        partition.ended(item, isDone: true)
        #expect(partition.due == 6)
        partition.committed = CommitMark(offset: 6)
        #expect(partition.due == nil)
    }

    @Test("an abandoned record is never passed")
    func abandoned() {
        let partition = AssignedPartition(assignment: 1)
        let first = admit(1, to: partition)
        let second = admit(2, to: partition)
        partition.ended(first, isDone: false)
        partition.ended(second, isDone: true)
        #expect(partition.due == 1)
        #expect(partition.inFlight.isEmpty)
    }

    @Test("where offsets fall back, nothing is committed until what came before is finished")
    func fallback() {
        let partition = AssignedPartition(assignment: 1, start: 100, committed: CommitMark(offset: 100))
        partition.prepared(highestDecided: nil)
        let old = (100..<103).map { admit($0, to: partition) }
        partition.ended(old[1], isDone: true)
        #expect(!partition.turnsBack(to: 103))
        #expect(!partition.mayBeRedelivered(103))
        #expect(partition.turnsBack(to: 0))
        #expect(partition.mayBeRedelivered(0))
        let new = admit(0, to: partition)
        partition.ended(new, isDone: true)
        #expect(partition.due == nil)
        partition.ended(old[0], isDone: true)
        #expect(partition.due == nil)
        partition.ended(old[2], isDone: true)
        #expect(partition.due == 1)
    }

    @Test("a record that was abandoned before offsets fell back holds the partition until it is assigned anew")
    func fallbackAbandoned() {
        let partition = AssignedPartition(assignment: 1)
        let old = admit(7, to: partition)
        partition.ended(old, isDone: false)
        #expect(partition.turnsBack(to: 7))
        partition.ended(admit(7, to: partition), isDone: true)
        #expect(partition.due == nil)
    }

    @Test("the same offset twice in flight is two records")
    func sameOffset() {
        let partition = AssignedPartition(assignment: 1)
        let first = admit(7, to: partition)
        #expect(partition.turnsBack(to: 7))
        let again = admit(7, to: partition)
        #expect(partition.inFlight.count == 2)
        partition.ended(again, isDone: true)
        #expect(partition.due == nil)
        partition.ended(first, isDone: true)
        #expect(partition.due == 8)
    }

    @Test("only offsets up to the highest decided one may be redelivered")
    func redelivery() {
        let partition = AssignedPartition(assignment: 1)
        partition.prepared(highestDecided: 10)
        #expect(partition.mayBeRedelivered(10))
        #expect(!partition.mayBeRedelivered(11))
    }
}

extension AssignedPartition {
    /// The offset to commit where nothing but Kafka keeps offsets.
    fileprivate var due: Int64? { commitDue(isGuarded: false)?.offset }
}
