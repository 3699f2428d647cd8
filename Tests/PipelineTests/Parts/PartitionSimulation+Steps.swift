import Fulfillment
import Kafka
import TestSupport

@testable import Pipeline

// The steps of the simulation: the owner's work, then the database's troubles.
extension PartitionSimulation {
    mutating func fetch() {
        guard owner.progress.isRowKnown, owner.next < log.count, !owner.gate.isFull else { return askLate() }
        let entry = log[owner.next]
        guard owner.gate.take(Sample.record(offset: entry.offset), .unlimited) == .admitted else { return }
        _ = owner.progress.beginsNewEpoch(at: entry.offset)
        let fetched = Sample.record(offset: entry.offset)
        let record = RecordInHand(
            AdmittedRecord(
                record: fetched, decoded: .deadLetter(DeadLetter(reason: .malformedMessage, detail: "a test's")),
                ticket: owner.lanes.enter(entry.player),
                assignment: owner.assignment,
                epoch: owner.progress.epoch, mayBeRedelivered: true),
            at: Sample.position(fetched))
        owner.progress.admit(entry.offset)
        owner.works.append(Work(record: record, index: owner.next))
        owner.next += 1
    }

    /// Lets the database answer if it did not answer at the assignment.
    private mutating func askLate() {
        guard !owner.progress.isRowKnown else { return }
        let row = onSomeSession { $0.row }
        if owner.progress.rowWasRead(late: row) != nil { assign(lowerStart: row?.nextOffset ?? 0) }
    }

    /// Decides a record whose turn it is, or finds the record's earlier outcome. Returns the record's index in the
    /// owner's works; nil if no record is ready.
    mutating func decide(_ owner: Owner) -> Int? {
        guard !owner.isLeaving else { return nil }
        let ready = owner.works.indices.filter { index in
            !owner.works[index].isDecided
                && (owner.works[index].record.admitted.ticket.map(owner.lanes.isFirst) ?? true)
        }
        guard let index = ready.randomElement(using: &random) else { return nil }
        let place = owner.works[index].index
        let isNew = onSomeSession { database in
            owner.works[index].record.item.wasDecided(in: database.history)
            return database.decided.insert(place).inserted
        }
        if isNew { decided.append(place) }
        return index
    }

    /// Runs a statement on a random session, either of the primary or from before a fail-over.
    private mutating func onSomeSession<Value>(_ body: (inout Database) -> Value) -> Value {
        guard var former = formerPrimary, random.chance(50) else { return body(&primary) }
        defer { formerPrimary = former }
        return body(&former)
    }

    /// Tells the consumer's thread about a decided record.
    mutating func tell() {
        let done = owner.works.indices.filter { owner.works[$0].isDecided }
        guard let index = done.randomElement(using: &random) else { return }
        if end(owner.works.remove(at: index), isDone: true) != nil { assign() }
    }

    private mutating func end(_ work: Work, isDone: Bool) -> PartitionProgress.Restart? {
        if let ticket = work.record.admitted.ticket { owner.lanes.leave(ticket) }
        owner.gate.release(bytes: work.record.admitted.byteCount)
        guard isDone else { return nil }
        return owner.progress.finish(
            work.record.position.offset, epoch: work.record.admitted.epoch, decidedIn: work.record.item.decidedIn)
    }

    /// Ends the checkpoint. In trouble the database may not write the row, or the owner may not get the answer.
    mutating func endCheckpoint(isTroubled: Bool) {
        guard let (write, decidedIn) = owner.checkpoint else { return }
        owner.checkpoint = nil
        var result: CheckpointResult?
        if !isTroubled || random.chance(80) {
            result = onSomeSession { database in
                guard decidedIn == nil || decidedIn == database.history else {
                    return CheckpointResult(history: database.history)
                }
                guard database.row == write.expected else {
                    return CheckpointResult(history: database.history, refused: [0: database.row])
                }
                database.row = write.new
                return CheckpointResult(history: database.history)
            }
        }
        if isTroubled, random.chance(20) { result = nil }
        if owner.progress.endCheckpoint(write, partition: 0, result) != nil { assign() }
    }

    mutating func look() {
        guard case .some(let asked) = owner.progress.verifiableRow else { return }
        let (row, history) = onSomeSession { ($0.row, $0.history) }
        if owner.progress.verify(row, in: history, asked: asked) != nil { assign() }
    }

    mutating func beginCommit() {
        guard owner.commitUnderWay == nil, let due = owner.progress.commitDue(metadata: { _ in "" }) else { return }
        owner.commitUnderWay = due
        owner.progress.commitWasSent(due)
    }

    mutating func endCommit(fails: Bool) {
        guard let mark = owner.commitUnderWay else { return }
        owner.commitUnderWay = nil
        guard !fails else { return owner.progress.commitFailed() }
        committed = mark.offset
        _ = owner.progress.commitSucceeded(at: mark.offset)
    }

    /// Revokes the partition. Unless the partition is lost, some decided records finish and the owner gives up the
    /// rest. The owner then writes its last checkpoint and its last commit.
    mutating func revoke(isLost: Bool) {
        endCommit(fails: isLost)
        var mustRestart = false
        if !isLost {
            owner.isLeaving = true
            while !owner.works.isEmpty {
                let work = owner.works.remove(at: random.below(owner.works.count))
                if end(work, isDone: work.isDecided && random.chance(80)) != nil { mustRestart = true }
            }
            if !mustRestart {
                owner.checkpoint = owner.checkpoint ?? owner.progress.beginCheckpoint()
                let before = assignments
                endCheckpoint(isTroubled: true)
                if assignments != before { return }
                if let due = owner.progress.commitDue(metadata: { _ in "" }) { committed = due.offset }
            }
        }
        assign()
    }

    /// Assigns the partition to the next owner, which begins at the lower of Kafka's and the database's offsets.
    mutating func assign(lowerStart: Int64? = nil) {
        assignments += 1
        let row: OffsetCheckpoint?? = random.chance(20) ? nil : .some(onSomeSession { $0.row })
        let earliest = log.first?.offset ?? 0
        let start =
            committed.map {
                PartitionProgress.start(committed: $0, row: row, log: (earliest, .max), lowered: lowerStart)
            } ?? earliest
        owner = Owner(
            assignment: assignments,
            progress: PartitionProgress(
                start: start, committed: committed.map { CommitMark(offset: $0) }, row: row,
                writer: Int64(assignments)),
            gate: Self.gate(maximumRecords),
            next: log.firstIndex { $0.offset >= start } ?? log.count)
    }

    /// Makes librdkafka deliver records a second time.
    mutating func fallBack() {
        guard owner.next > 0 else { return }
        owner.next = random.below(owner.next)
    }

    /// Takes a backup, restores a backup, promotes a lagging standby while old sessions live on, or ends old sessions.
    mutating func troubleDatabase() {
        switch random.below(4) {
        case 0: backups.append(primary)
        case 1:
            guard let backup = backups.randomElement(using: &random) else { return }
            primary = begun(backup)
            formerPrimary = nil
        case 2:
            formerPrimary = primary
            primary = begun(backups.last ?? primary)
        default: formerPrimary = nil
        }
    }

    private mutating func begun(_ state: Database) -> Database {
        histories += 1
        var database = state
        database.history = DatabaseHistory("\(histories)")
        return database
    }
}
