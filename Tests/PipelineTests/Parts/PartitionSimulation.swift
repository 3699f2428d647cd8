import Fulfillment
import Kafka
import NamesAndTimes
import TestSupport

@testable import Pipeline

/// A simulation of one partition, its owners one after the other, Kafka, and databases that fail over or go back to a
/// backup. The simulation runs in one thread, and a seed decides each step. Progress, lanes and gate are the real
/// types.
struct PartitionSimulation {
    struct Fault: Error, CustomStringConvertible {
        let description: String
    }

    struct Entry {
        let offset: Int64
        let player: PlayerID
    }

    /// A record that an owner works on.
    struct Work {
        let record: RecordInHand
        let index: Int
        /// Whether the decision is durable. The owner's consumer thread does not know it yet.
        var isDecided = false
    }

    /// A database with its history. Each fail-over or restore begins another history.
    struct Database {
        var history: DatabaseHistory
        /// The indices in the log of the records that have an outcome.
        var decided: Set<Int> = []
        var row: OffsetCheckpoint?
    }

    /// A worker process with its state for this partition.
    struct Owner {
        let assignment: UInt64
        var progress: PartitionProgress
        let lanes = PlayerLanes()
        var gate: IntakeGate
        var works: [Work] = []
        /// The offset of the next record to be fetched.
        var next: Int
        var checkpoint: (write: CheckpointWrite, decidedIn: DatabaseHistory?)?
        var commitUnderWay: CommitMark?
        /// Whether the owner has abandoned its records. From then on the owner writes no decision to the database.
        var isLeaving = false
    }

    var random: SeededRandom
    let log: [Entry]
    private let isDatabaseTroubled: Bool
    let maximumRecords: Int
    static let place = TopicPartition(topic: Sample.submissions, partition: 0)
    var owner: Owner
    /// An owner that the group considers dead. A zombie still writes to the database, and commits no offset.
    var zombie: Owner?
    var assignments: UInt64 = 1
    var committed: Int64?
    /// The database that new sessions use.
    var primary = Database(history: DatabaseHistory("0"))
    /// The database that sessions from before a fail-over use; nil if no such session is left.
    var formerPrimary: Database?
    var backups: [Database] = []
    var histories = 0
    /// The indices in the log of the decided records, in the order of their decisions.
    var decided: [Int] = []
    private var latest: [PlayerID: Int] = [:]

    /// - Parameter isDatabaseTroubled: true if databases fail over and go back to backups. Records may then be decided
    ///   again and out of order, but every record must be decided in the end.
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

    /// Makes a gate whose partition waits for no prerequisite.
    static func gate(_ maximumRecords: Int) -> IntakeGate {
        var gate = IntakeGate(maximumRecords: maximumRecords)
        gate.assign(place, waitingFor: [])
        return gate
    }

    private var isAllDecided: Bool { primary.decided.count == log.count }

    /// Runs random steps with trouble for a while, then steps without trouble until all records are decided.
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
                // The owner gave up a record in the last trouble. The record is delivered again with the next
                // assignment.
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
            // The turn passes to the next record of the same player.
            if let ticket = other.works[index].record.admitted.ticket { other.lanes.leave(ticket) }
            zombie = other
        }
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
