import Fulfillment
import Kafka

@testable import Pipeline

/// One partition, its owners one after the other, and what Kafka and PostgreSQL keep: all of it in one thread, step by
/// step as a seed has it. Tracker, lanes and window are the real ones.
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
        let item: InFlightRecord
        let index: Int
        /// Durable, and the owner's consumer thread not told yet.
        var isDecided = false
    }

    /// A worker process, as far as this partition goes.
    private struct Owner {
        let partition: AssignedPartition
        let lanes = PlayerLanes()
        var window: IntakeWindow
        var works: [Work] = []
        /// Of the next record to be fetched.
        var next: Int
        var commitUnderWay: Int64?
        /// Its records were told to give up: what does not stand in the database yet never will by it.
        var isLeaving = false
    }

    private var random: SeededRandom
    private let log: [Entry]
    private var owner: Owner
    /// Thought dead by the group, and alive: it still writes to the database, and commits nothing.
    private var zombie: Owner?
    private var assignments: UInt64 = 1
    private(set) var committed: Int64?
    /// Places in the log, in the order in which they were decided.
    private(set) var decided: [Int] = []
    private var isDecided: [Bool]
    private var latest: [PlayerID: Int] = [:]

    init(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var offset = Int64(random.below(100))
        let players = 1 + random.below(6)
        log = (0..<random.below(60)).map { _ in
            offset += 1 + Int64(random.chance(15) ? random.below(20) : 0)
            return Entry(offset: offset, player: Identifier("player-\(random.below(players))"))
        }
        isDecided = Array(repeating: false, count: log.count)
        owner = Self.owner(assignment: 1, committed: nil, next: 0, window: 1 + random.below(20))
        self.random = random
    }

    /// Anything may happen for a while; then only good things, until all is done.
    mutating func run() throws {
        for _ in 0..<(20 + random.below(300)) {
            try step(isTroubled: true)
            try check()
        }
        zombie = nil
        var quietSteps = 0
        while decided.count < log.count || committed ?? 0 < log.last.map({ $0.offset + 1 }) ?? 0 {
            try step(isTroubled: false)
            try check()
            quietSteps += 1
            if owner.works.isEmpty, owner.next == log.count, owner.commitUnderWay == nil,
                owner.partition.commitDue(isGuarded: false) == nil
            {
                // A record was given up in the last trouble: it comes again with the next assignment.
                assign()
            }
            guard quietSteps < 20_000 else {
                throw Fault(description: "\(log.count - decided.count) are never decided")
            }
        }
        guard owner.window.records == 0 || !owner.works.isEmpty else {
            throw Fault(description: "the window leaks \(owner.window.records) places")
        }
    }

    private static func owner(assignment: UInt64, committed: Int64?, next: Int, window: Int) -> Owner {
        let partition = AssignedPartition(
            assignment: assignment, start: committed, committed: committed.map { CommitMark(offset: $0) })
        partition.prepared(highestDecided: nil)
        return Owner(partition: partition, window: IntakeWindow(maximumRecords: window), next: next)
    }

    private mutating func step(isTroubled: Bool) throws {
        switch random.below(isTroubled ? 100 : 80) {
        case ..<30: fetch()
        case ..<50:
            if let index = decide(owner) { owner.works[index].isDecided = true }
        case ..<65: tell()
        case ..<72: beginCommit()
        case ..<80: endCommit(fails: isTroubled && random.chance(20))
        case ..<86: revoke(isLost: random.chance(30))
        case ..<89: assign()
        case ..<92:
            zombie = owner
            assign()
        case ..<95: fallBack()
        default:
            guard var other = zombie, let index = decide(other) else { return }
            other.works[index].isDecided = true
            // It goes on to its player's next.
            if let ticket = other.works[index].item.ticket { other.lanes.leave(ticket) }
            zombie = other
        }
    }

    private mutating func fetch() {
        guard owner.next < log.count, !owner.window.isFull else { return }
        let entry = log[owner.next]
        _ = owner.partition.turnsBack(to: entry.offset)
        let record = Sample.record(offset: entry.offset)
        let item = InFlightRecord(
            record: record, position: Sample.position(record),
            decoded: .deadLetter(DeadLetter(reason: .malformedMessage, detail: "a test's")),
            ticket: owner.lanes.enter(entry.player), assignment: owner.partition.assignment, lap: owner.partition.lap,
            mayBeRedelivered: true)
        owner.partition.admit(item)
        owner.window.admit(bytes: item.byteCount)
        owner.works.append(Work(item: item, index: owner.next))
        owner.next += 1
    }

    /// One whose turn it is gets its outcome, or finds the one that it has. Returns its place in the owner's hands.
    private mutating func decide(_ owner: Owner) -> Int? {
        guard !owner.isLeaving else { return nil }
        let ready = owner.works.indices.filter { index in
            !owner.works[index].isDecided && (owner.works[index].item.ticket.map(owner.lanes.isFirst) ?? true)
        }
        guard let index = ready.randomElement(using: &random) else { return nil }
        let place = owner.works[index].index
        if !isDecided[place] {
            isDecided[place] = true
            decided.append(place)
        }
        return index
    }

    /// The consumer's thread hears of one that is done.
    private mutating func tell() {
        let done = owner.works.indices.filter { owner.works[$0].isDecided }
        guard let index = done.randomElement(using: &random) else { return }
        end(owner.works.remove(at: index), isDone: true)
    }

    private mutating func end(_ work: Work, isDone: Bool) {
        if let ticket = work.item.ticket { owner.lanes.leave(ticket) }
        owner.window.release(bytes: work.item.byteCount)
        owner.partition.ended(work.item, isDone: isDone)
    }

    private mutating func beginCommit() {
        guard owner.commitUnderWay == nil else { return }
        owner.commitUnderWay = owner.partition.commitDue(isGuarded: false)?.offset
    }

    private mutating func endCommit(fails: Bool) {
        guard let offset = owner.commitUnderWay else { return }
        owner.commitUnderWay = nil
        guard !fails else { return }
        committed = offset
        owner.partition.committed = CommitMark(offset: offset)
    }

    /// Some of what is under way may finish, the rest is given up; the last commit comes before the partition goes.
    private mutating func revoke(isLost: Bool) {
        endCommit(fails: isLost)
        if !isLost {
            owner.isLeaving = true
            while !owner.works.isEmpty {
                let work = owner.works.remove(at: random.below(owner.works.count))
                end(work, isDone: work.isDecided && random.chance(80))
            }
            if let due = owner.partition.commitDue(isGuarded: false) { committed = due.offset }
        }
        assign()
    }

    /// To the next owner, which begins where Kafka says.
    private mutating func assign() {
        assignments += 1
        let next = log.firstIndex { $0.offset >= committed ?? 0 } ?? log.count
        owner = Self.owner(
            assignment: assignments, committed: committed, next: next, window: owner.window.maximumRecords)
    }

    /// librdkafka hands records out a second time.
    private mutating func fallBack() {
        guard owner.next > 0 else { return }
        owner.next = random.below(owner.next)
    }

    private mutating func check() throws {
        if let behind = zip(log, isDecided).first(where: { $0.offset < committed ?? 0 && !$1 }) {
            throw Fault(description: "\(behind.0.offset) is committed undecided")
        }
        guard owner.window.records <= owner.window.maximumRecords else {
            throw Fault(description: "\(owner.window.records) in a window of \(owner.window.maximumRecords)")
        }
        guard let last = decided.last else { return }
        let player = log[last].player
        if let before = latest[player], before > last {
            throw Fault(description: "\(log[last].offset) was decided after \(log[before].offset) of the same player")
        }
        latest[player] = last
    }
}
