import Fulfillment
import Kafka

@testable import Pipeline

/// One partition, its owners one after the other, Kafka, and databases that fail over and are put back: all of it in one
/// thread, step by step as a seed has it. Progress, lanes and gate are the real ones.
struct PartitionSimulation {
    struct Fault: Error, CustomStringConvertible {
        let description: String
    }

    private struct Entry {
        let offset: Int64
        let player: PlayerID
    }

    /// One record in an owner's hands.
    private struct Work {
        let item: SubmissionInHand
        let index: Int
        /// Durable, and the owner's consumer thread not told yet.
        var isDecided = false
    }

    /// One lineage of PostgreSQL's data.
    private struct Database {
        var history: DatabaseHistory
        /// Places in the log that have an outcome.
        var decided: Set<Int> = []
        var row: OffsetCheckpoint?
    }

    /// A worker process, as far as this partition goes.
    private struct Owner {
        let assignment: UInt64
        var progress: PartitionProgress
        let lanes = PlayerLanes()
        var gate: IntakeGate
        var works: [Work] = []
        /// Of the next record to be fetched.
        var next: Int
        var checkpoint: (write: CheckpointWrite, decidedIn: DatabaseHistory?)?
        var commitUnderWay: CommitMark?
        /// Its records were told to give up: what does not stand in the database yet never will by it.
        var isLeaving = false
    }

    private var random: SeededRandom
    private let log: [Entry]
    private let isDatabaseTroubled: Bool
    private let maximumRecords: Int
    private static let place = TopicPartition(topic: Sample.submissions, partition: 0)
    private var owner: Owner
    /// Thought dead by the group, and alive: it still writes to the database, and commits nothing.
    private var zombie: Owner?
    private var assignments: UInt64 = 1
    private(set) var committed: Int64?
    /// Where new sessions go.
    private var primary = Database(history: DatabaseHistory("0"))
    /// Where sessions from before a fail-over still lead.
    private var formerPrimary: Database?
    private var backups: [Database] = []
    private var histories = 0
    /// Places in the log, in the order in which they were decided.
    private(set) var decided: [Int] = []
    private var latest: [PlayerID: Int] = [:]

    /// - Parameter isDatabaseTroubled: databases fail over and are put back: then records may be decided again, and out of
    ///   order, but none may be missing in the end.
    init(seed: UInt64, isDatabaseTroubled: Bool) {
        var random = SeededRandom(seed: seed)
        var offset = Int64(random.below(100))
        let players = 1 + random.below(6)
        log = (0..<random.below(60)).map { _ in
            offset += 1 + Int64(random.chance(15) ? random.below(20) : 0)
            return Entry(offset: offset, player: Identifier("player-\(random.below(players))"))
        }
        self.isDatabaseTroubled = isDatabaseTroubled
        maximumRecords = 1 + random.below(20)
        owner = Owner(
            assignment: 1,
            progress: PartitionProgress(start: log.first?.offset ?? 0, committed: nil, row: .some(nil), writer: 1),
            gate: Self.gate(maximumRecords), next: 0)
        self.random = random
    }

    /// Nothing keeps the partition waiting.
    private static func gate(_ maximumRecords: Int) -> IntakeGate {
        var gate = IntakeGate(maximumRecords: maximumRecords)
        gate.assign(place, waitingFor: [])
        return gate
    }

    private var isAllDecided: Bool { primary.decided.count == log.count }

    /// Anything may happen for a while; then only good things, until all is done.
    mutating func run() throws {
        for _ in 0..<(20 + random.below(300)) {
            try step(isTroubled: true)
            try check()
        }
        zombie = nil
        formerPrimary = nil
        var quietSteps = 0
        while !isAllDecided || committed ?? 0 < log.last.map({ $0.offset + 1 }) ?? 0 {
            try step(isTroubled: false)
            try check()
            quietSteps += 1
            if owner.works.isEmpty, owner.next == log.count, owner.commitUnderWay == nil, owner.checkpoint == nil,
                owner.progress.position != log.last.map({ $0.offset + 1 })
            {
                // A record was given up in the last trouble: it comes again with the next assignment.
                assign()
            }
            guard quietSteps < 20_000 else {
                throw Fault(
                    description: "\(log.count - primary.decided.count) are never decided, committed: \(committed ?? -1)"
                )
            }
        }
        guard owner.gate.records == 0 || !owner.works.isEmpty else {
            throw Fault(description: "the window leaks \(owner.gate.records) places")
        }
    }

    private mutating func step(isTroubled: Bool) throws {
        switch random.below(isTroubled ? 100 : 80) {
        case ..<28: fetch()
        case ..<46:
            if let index = decide(owner) { owner.works[index].isDecided = true }
        case ..<60: tell()
        case ..<65: owner.checkpoint = owner.checkpoint ?? owner.progress.beginCheckpoint()
        case ..<70: endCheckpoint(isTroubled: isTroubled)
        case ..<72: look()
        case ..<76: beginCommit()
        case ..<80: endCommit(fails: isTroubled && random.chance(20))
        case ..<84: revoke(isLost: random.chance(30))
        case ..<86: assign()
        case ..<88:
            zombie = owner
            assign()
        case ..<90: fallBack()
        case ..<96:
            if isDatabaseTroubled { troubleDatabase() }
        default:
            guard var other = zombie, let index = decide(other) else { return }
            other.works[index].isDecided = true
            // It goes on to its player's next.
            if let ticket = other.works[index].item.ticket { other.lanes.leave(ticket) }
            zombie = other
        }
    }

    private mutating func fetch() {
        guard owner.progress.isRowKnown, owner.next < log.count, !owner.gate.isFull else { return askLate() }
        let entry = log[owner.next]
        guard owner.gate.take(Sample.record(offset: entry.offset), .unlimited) == .admitted else { return }
        _ = owner.progress.beginsNewEpoch(at: entry.offset)
        let record = Sample.record(offset: entry.offset)
        let item = SubmissionInHand(
            AdmittedRecord(
                record: record, ticket: owner.lanes.enter(entry.player), assignment: owner.assignment,
                epoch: owner.progress.epoch, mayBeRedelivered: true),
            at: Sample.position(record),
            decoded: .deadLetter(DeadLetter(reason: .malformedMessage, detail: "a test's")))
        owner.progress.admit(entry.offset)
        owner.works.append(Work(item: item, index: owner.next))
        owner.next += 1
    }

    /// A database that did not answer at the assignment does now.
    private mutating func askLate() {
        guard !owner.progress.isRowKnown else { return }
        let row = onSomeSession { $0.row }
        if owner.progress.rowWasRead(late: row) != nil { assign(lowerStart: row?.nextOffset ?? 0) }
    }

    /// One whose turn it is gets its outcome, or finds the one that it has. Returns its place in the owner's hands.
    private mutating func decide(_ owner: Owner) -> Int? {
        guard !owner.isLeaving else { return nil }
        let ready = owner.works.indices.filter { index in
            !owner.works[index].isDecided && (owner.works[index].item.ticket.map(owner.lanes.isFirst) ?? true)
        }
        guard let index = ready.randomElement(using: &random) else { return nil }
        let place = owner.works[index].index
        let isNew = onSomeSession { database in
            owner.works[index].item.wasDecided(in: database.history)
            return database.decided.insert(place).inserted
        }
        if isNew { decided.append(place) }
        return index
    }

    /// What a statement does that comes by the pool: which of its sessions runs it is chance.
    private mutating func onSomeSession<Value>(_ body: (inout Database) -> Value) -> Value {
        guard var former = formerPrimary, random.chance(50) else { return body(&primary) }
        defer { formerPrimary = former }
        return body(&former)
    }

    /// The consumer's thread hears of one that is done.
    private mutating func tell() {
        let done = owner.works.indices.filter { owner.works[$0].isDecided }
        guard let index = done.randomElement(using: &random) else { return }
        if end(owner.works.remove(at: index), isDone: true) != nil { assign() }
    }

    private mutating func end(_ work: Work, isDone: Bool) -> PartitionProgress.Restart? {
        if let ticket = work.item.ticket { owner.lanes.leave(ticket) }
        owner.gate.release(bytes: work.item.byteCount)
        guard isDone else { return nil }
        return owner.progress.finish(
            work.item.position.offset, epoch: work.item.epoch, decidedIn: work.item.decidedIn)
    }

    /// It is written or not, and the owner hears of it or not.
    private mutating func endCheckpoint(isTroubled: Bool) {
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

    private mutating func look() {
        guard case .some(let asked) = owner.progress.verifiableRow else { return }
        let (row, history) = onSomeSession { ($0.row, $0.history) }
        if owner.progress.verify(row, in: history, asked: asked) != nil { assign() }
    }

    private mutating func beginCommit() {
        guard owner.commitUnderWay == nil, let due = owner.progress.commitDue(metadata: { _ in "" }) else { return }
        owner.commitUnderWay = due
        owner.progress.commitWasSent(due)
    }

    private mutating func endCommit(fails: Bool) {
        guard let mark = owner.commitUnderWay else { return }
        owner.commitUnderWay = nil
        guard !fails else { return owner.progress.commitFailed() }
        committed = mark.offset
        _ = owner.progress.commitSucceeded(at: mark.offset)
    }

    /// Some of what is under way may finish, the rest is given up; the last checkpoint and the last commit come before the
    /// partition goes.
    private mutating func revoke(isLost: Bool) {
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

    /// To the next owner, which begins at the lower of what Kafka and the database say.
    private mutating func assign(lowerStart: Int64? = nil) {
        assignments += 1
        let row: OffsetCheckpoint?? = random.chance(20) ? nil : .some(onSomeSession { $0.row })
        let earliest = log.first?.offset ?? 0
        let start =
            committed.map {
                PartitionProgress.start(committed: $0, row: row, earliest: earliest, lowered: lowerStart)
            } ?? earliest
        owner = Owner(
            assignment: assignments,
            progress: PartitionProgress(
                start: start, committed: committed.map { CommitMark(offset: $0) }, row: row,
                writer: Int64(assignments)),
            gate: Self.gate(maximumRecords),
            next: log.firstIndex { $0.offset >= start } ?? log.count)
    }

    /// librdkafka hands records out a second time.
    private mutating func fallBack() {
        guard owner.next > 0 else { return }
        owner.next = random.below(owner.next)
    }

    /// A backup is taken; it is put back; a standby that lags is promoted while old sessions live on; or those end.
    private mutating func troubleDatabase() {
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

    private mutating func check() throws {
        guard owner.gate.records <= maximumRecords else {
            throw Fault(description: "\(owner.gate.records) in a window of \(maximumRecords)")
        }
        if isDatabaseTroubled { return }
        let isMissing = log.indices.first { log[$0].offset < committed ?? 0 && !primary.decided.contains($0) }
        if let isMissing { throw Fault(description: "\(log[isMissing].offset) is committed undecided") }
        guard let last = decided.last else { return }
        let player = log[last].player
        if let before = latest[player], before > last {
            throw Fault(description: "\(log[last].offset) was decided after \(log[before].offset) of the same player")
        }
        latest[player] = last
    }
}
