import Fulfillment
import Kafka
import Testing

@testable import Pipeline

@Suite("A partition's progress through checkpoints and commits")
struct PartitionProgressTests {
    private static let first = DatabaseHistory("first")
    private static let second = DatabaseHistory("second")

    private static func row(_ offset: Int64, writer: Int64 = 7, version: Int64 = 1) -> OffsetCheckpoint {
        OffsetCheckpoint(nextOffset: offset, writer: writer, version: version)
    }

    /// Returns the progress of an owner that begins at an offset on which Kafka and the database agree.
    private static func agreed(at offset: Int64) -> PartitionProgress {
        PartitionProgress(
            start: offset, committed: CommitMark(offset: offset), row: .some(row(offset)), writer: 9)
    }

    private func finish(
        _ offsets: Range<Int64>, of progress: inout PartitionProgress, in history: DatabaseHistory? = first
    ) -> PartitionProgress.Restart? {
        for offset in offsets { progress.admit(offset) }
        for offset in offsets {
            if let restart = progress.finish(offset, epoch: progress.epoch, decidedIn: history) { return restart }
        }
        return nil
    }

    private func begun(
        _ progress: inout PartitionProgress
    ) throws -> (write: CheckpointWrite, decidedIn: DatabaseHistory?) {
        let begun = progress.beginCheckpoint()
        return try #require(begun)
    }

    private func isNoneDue(_ progress: PartitionProgress) -> Bool {
        var progress = progress
        return progress.beginCheckpoint() == nil
    }

    private func checkpoint(
        _ progress: inout PartitionProgress, in history: DatabaseHistory = first
    ) throws -> PartitionProgress.Restart? {
        let (write, _) = try begun(&progress)
        return progress.endCheckpoint(write, partition: 0, CheckpointResult(history: history))
    }

    @Test(
        "a partition is read from the lower of commit and checkpoint, or from the log's start if no checkpoint is valid"
    )
    func start() {
        func start(_ committed: Int64, _ row: Int64?, _ log: (low: Int64, high: Int64)?) -> Int64 {
            PartitionProgress.start(committed: committed, row: .some(row.map { Self.row($0) }), log: log)
        }
        #expect(start(40, 30, (0, 50)) == 30 && start(40, 50, (0, 50)) == 40 && start(40, nil, (3, 50)) == 3)
        #expect(start(40, 1000, (2, 50)) == 2 && start(40, 1000, nil) == 40)
        // Kafka's offset is from the earlier topic too. It lies outside the log, so an offset reset follows, and
        // reading starts at the first record.
        #expect(start(900, 1000, (0, 50)) == 900)
    }

    @Test("an offset is committed once, after all records before it are finished and the checkpoint is stored")
    func checkpointed() throws {
        var progress = Self.agreed(at: 5)
        #expect(progress.due == nil)
        progress.admit(5)
        progress.admit(6)
        let result1 = progress.finish(6, epoch: 0, decidedIn: Self.first)
        #expect(result1 == nil)
        #expect(isNoneDue(progress))
        let result2 = progress.finish(5, epoch: 0, decidedIn: Self.first)
        #expect(result2 == nil)
        #expect(progress.due == nil)
        let (write, decidedIn) = try begun(&progress)
        #expect(write == CheckpointWrite(expected: Self.row(5), new: Self.row(7, writer: 9, version: 2)))
        #expect(decidedIn == Self.first)
        #expect(progress.due == nil && isNoneDue(progress))
        let result3 = progress.endCheckpoint(write, partition: 0, CheckpointResult(history: Self.first))
        #expect(result3 == nil)
        #expect(progress.due == 7)
        progress.commitSucceeded(CommitMark(offset: 7))
        #expect(progress.due == nil && isNoneDue(progress))
    }

    @Test("if Kafka has no offset of the group, another owner's checkpoint row makes no offset committable")
    func foreignRow() throws {
        // An operator recreated the topic. Kafka has no offset of the group, and the row is from the deleted topic.
        var progress = PartitionProgress(start: 0, committed: nil, row: .some(Self.row(30)), writer: 9)
        #expect(progress.due == 0)
        #expect(finish(0..<10, of: &progress) == nil)
        let (write, _) = try begun(&progress)
        let result4 = progress.endCheckpoint(write, partition: 0, nil)
        #expect(result4 == nil)
        #expect(progress.due == 0)
        #expect(try checkpoint(&progress) == nil)
        #expect(progress.due == 10)
    }

    @Test("if a write or a read finds an older checkpoint row than the owner's, or none, the partition restarts")
    func fellBack() throws {
        var progress = Self.agreed(at: 5)
        #expect(finish(5..<9, of: &progress) == nil)
        #expect(try checkpoint(&progress) == nil)
        #expect(finish(9..<12, of: &progress) == nil)
        var looking = progress
        let (write, _) = try begun(&progress)
        let refused = CheckpointResult(history: Self.first, refused: [0: Self.row(5)])
        let result5 = progress.endCheckpoint(write, partition: 0, refused)
        #expect(result5 == .databaseFellBack)
        let asked = try #require(looking.verifiableRow)
        let result6 = looking.verify(asked, in: Self.first, asked: asked)
        #expect(result6 == nil)
        let result7 = looking.verify(Self.row(5), in: Self.first, asked: asked)
        #expect(result7 == .databaseFellBack)
        let result8 = looking.verify(nil, in: Self.first, asked: asked)
        #expect(result8 == .databaseFellBack)
    }

    @Test("if two decisions, or a decision and its checkpoint, are of two database histories, the partition restarts")
    func histories() throws {
        var progress = Self.agreed(at: 0)
        #expect(finish(0..<2, of: &progress, in: Self.first) == nil)
        var other = progress
        #expect(finish(2..<3, of: &other, in: Self.second) == .otherHistory)
        #expect(try checkpoint(&progress, in: Self.second) == .otherHistory)
    }

    @Test("if the earlier database history's decisions are all checkpointed, a new history restarts no partition")
    func quietRestart() throws {
        var progress = Self.agreed(at: 0)
        #expect(finish(0..<2, of: &progress, in: Self.first) == nil)
        #expect(try checkpoint(&progress, in: Self.first) == nil)
        let asked = try #require(progress.verifiableRow)
        let result9 = progress.verify(asked, in: Self.second, asked: asked)
        #expect(result9 == nil)
        #expect(finish(2..<3, of: &progress, in: Self.second) == nil)
        #expect(try checkpoint(&progress, in: Self.second) == nil)
        #expect(progress.committable == 3)
    }

    @Test("if the answer to a checkpoint's write is lost, the owner repeats the write, and recognises its own row")
    func lostAnswer() throws {
        var progress = Self.agreed(at: 0)
        #expect(finish(0..<2, of: &progress, in: Self.first) == nil)
        let (lost, _) = try begun(&progress)
        let result10 = progress.endCheckpoint(lost, partition: 0, nil)
        #expect(result10 == nil)
        var elsewhere = progress
        #expect(try checkpoint(&elsewhere, in: Self.second) == .otherHistory)
        // The database had written the row. The refused write therefore finds the owner's own row.
        let (again, _) = try begun(&progress)
        let found = CheckpointResult(history: Self.first, refused: [0: lost.new])
        let result11 = progress.endCheckpoint(again, partition: 0, found)
        #expect(result11 == nil)
        #expect(progress.due == nil)
        #expect(try checkpoint(&progress) == nil)
        #expect(progress.due == 2)
    }

    @Test("a partition's owner accepts the previous owner's late checkpoint; a third worker's restarts the partition")
    func otherWriters() throws {
        var progress = Self.agreed(at: 5)
        #expect(finish(5..<6, of: &progress) == nil)
        let (write, _) = try begun(&progress)
        let late = CheckpointResult(history: Self.first, refused: [0: Self.row(5, version: 2)])
        let result12 = progress.endCheckpoint(write, partition: 0, late)
        #expect(result12 == nil)
        let (again, _) = try begun(&progress)
        #expect(again.new.version == 3)
        let stranger = CheckpointResult(history: Self.first, refused: [0: Self.row(5, writer: 8, version: 3)])
        let result13 = progress.endCheckpoint(again, partition: 0, stranger)
        #expect(result13 == .otherOwner)
    }

    @Test("if a read of the checkpoint row began before the row was last written, the owner ignores the read's result")
    func outdatedLook() throws {
        var progress = Self.agreed(at: 5)
        let asked = try #require(progress.verifiableRow)
        #expect(finish(5..<6, of: &progress) == nil)
        #expect(try checkpoint(&progress) == nil)
        let result14 = progress.verify(asked, in: Self.first, asked: asked)
        #expect(result14 == nil)
    }

    @Test("if a checkpoint that is read late is missing or below Kafka's offset, the partition restarts")
    func late() {
        var progress = PartitionProgress(start: 5, committed: CommitMark(offset: 5), row: nil, writer: 9)
        #expect(!progress.isRowKnown && isNoneDue(progress))
        let result15 = progress.rowWasRead(late: Self.row(3))
        #expect(result15 == .lowerCheckpoint)
        var agreeing = PartitionProgress(start: 5, committed: CommitMark(offset: 5), row: nil, writer: 9)
        let result16 = agreeing.rowWasRead(late: Self.row(5))
        #expect(result16 == nil && agreeing.isRowKnown)
        var lost = PartitionProgress(start: 5, committed: CommitMark(offset: 5), row: nil, writer: 9)
        let none = lost.rowWasRead(late: nil)
        #expect(none == .lowerCheckpoint)
        var new = PartitionProgress(start: 5, committed: nil, row: nil, writer: 9)
        let result17 = new.rowWasRead(late: Self.row(3))
        #expect(result17 == nil)
    }

    @Test("a partition's position does not pass an unfinished record, even if a later record is finished")
    func abandoned() throws {
        var progress = Self.agreed(at: 1)
        progress.admit(1)
        progress.admit(2)
        let result18 = progress.finish(2, epoch: 0, decidedIn: nil)
        #expect(result18 == nil)
        #expect(progress.position == 1)
    }

    @Test("after an offset reset, no offset is committed until all records from before the reset are finished")
    func epochs() throws {
        var progress = Self.agreed(at: 100)
        for offset in Int64(100)..<103 { progress.admit(offset) }
        let result19 = progress.finish(101, epoch: 0, decidedIn: nil)
        #expect(result19 == nil)
        let result20 = progress.beginsNewEpoch(at: 103)
        #expect(!result20)
        let result21 = progress.beginsNewEpoch(at: 0)
        #expect(result21)
        progress.admit(0)
        for (offset, epoch) in [(0, 1), (100, 0)] as [(Int64, Int)] {
            let result22 = progress.finish(offset, epoch: epoch, decidedIn: nil)
            #expect(result22 == nil)
            #expect(progress.position == nil && progress.due == nil)
        }
        let result23 = progress.finish(102, epoch: 0, decidedIn: nil)
        #expect(result23 == nil)
        #expect(progress.position == 1 && progress.due == nil)
        #expect(try checkpoint(&progress) == nil)
        #expect(progress.due == 1)
    }

    @Test("a checkpoint from before an offset reset makes no offset committable after the reset")
    func checkpointOfEarlierEpoch() throws {
        var progress = Self.agreed(at: 100)
        #expect(finish(100..<103, of: &progress) == nil)
        let (write, _) = try begun(&progress)
        let result24 = progress.beginsNewEpoch(at: 0)
        #expect(result24)
        let result25 = progress.endCheckpoint(write, partition: 0, CheckpointResult(history: Self.first))
        #expect(result25 == nil)
        #expect(finish(0..<2, of: &progress) == nil)
        #expect(progress.position == 2 && progress.due == nil)
        #expect(try checkpoint(&progress) == nil)
        #expect(progress.due == 2)
    }

    @Test("if one offset is in flight from before and from after an offset reset, the position waits for both records")
    func sameOffset() {
        var progress = Self.agreed(at: 7)
        progress.admit(7)
        let result26 = progress.beginsNewEpoch(at: 7)
        #expect(result26)
        progress.admit(7)
        let result27 = progress.finish(7, epoch: 1, decidedIn: nil)
        #expect(result27 == nil)
        #expect(progress.position == nil)
        let result28 = progress.finish(7, epoch: 0, decidedIn: nil)
        #expect(result28 == nil)
        #expect(progress.position == 8)
    }

    @Test(
        "offsets up to the highest decided one may be redelivered; after an offset reset, all admitted offsets may be")
    func redelivery() {
        let partition = AssignedPartition(assignment: 1, progress: Self.agreed(at: 5))
        partition.prepared(highestDecided: 10)
        #expect(partition.mayBeRedelivered(10))
        #expect(!partition.mayBeRedelivered(11))
        partition.admit(Sample.inFlight(offset: 11))
        #expect(partition.beginsNewEpoch(at: 3))
        #expect(partition.mayBeRedelivered(11))
    }
}

extension PartitionProgress {
    fileprivate var due: Int64? { commitDue { _ in "" }?.offset }
}
