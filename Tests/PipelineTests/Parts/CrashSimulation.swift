import Fulfillment
import Kafka
import TestSupport

@testable import Pipeline

/// A simulation of processes, one after the other, that die of poison records or because operators kill them. Kafka's
/// commits and the database's checkpoints survive each process. The simulation runs in one thread, and a seed decides
/// each step. Isolation, gate and progress are the real types.
struct CrashSimulation {
    struct Fault: Error, CustomStringConvertible {
        let description: String
    }

    struct Place: Hashable {
        let partition: TopicPartition
        let offset: Int64
    }

    /// The state that survives a process.
    private struct Stored {
        var committed: CommitMark?
        var row: OffsetCheckpoint?
        var departures: Int64 = 0
    }

    private struct Process {
        var isolation = CrashIsolation(deathsOfDeadLetter: CrashHistory.deathsOfUnreadable)
        var gate: IntakeGate
        var progress: [TopicPartition: PartitionProgress] = [:]
        var next: [TopicPartition: Int64] = [:]
        var paused: Set<TopicPartition> = []
        var inFlight: [Place] = []
        var isDead = false
    }

    private var random: SeededRandom
    private let logs: [TopicPartition: Int64]
    private let poison: Set<Place>
    private var stored: [TopicPartition: Stored] = [:]
    private var process = Process(gate: IntakeGate(maximumRecords: 1))
    private var now = 0.0
    private var starts: Int64 = 0
    private var ended: Set<Place> = []
    private(set) var deadLetters: Set<Place> = []
    /// For each record, the number of processes that died while Kafka's metadata named the record as at work.
    private var isolatedDeaths: [Place: Int] = [:]
    /// The deaths by poison in each partition since Kafka last stored progress there.
    private var fruitlessDeaths: [TopicPartition: Int] = [:]

    init(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var logs: [TopicPartition: Int64] = [:]
        for number in 0..<Int32(1 + random.below(3)) {
            logs[TopicPartition(topic: "t", partition: number)] = Int64(random.below(120))
        }
        var poison: Set<Place> = []
        for (partition, end) in logs.sorted(by: { $0.key < $1.key }) where end > 0 && random.chance(60) {
            poison.insert(Place(partition: partition, offset: Int64(random.below(Int(end)))))
        }
        self.logs = logs
        self.poison = poison
        self.random = random
        for partition in logs.keys { stored[partition] = Stored() }
    }

    /// Lets operators and poison kill processes for a while. After that only poison kills, until all records are done.
    mutating func run() throws {
        start()
        for _ in 0..<random.below(400) { try step(isTroubled: true) }
        fruitlessDeaths = [:]
        var quietSteps = 0
        while !isDone {
            try step(isTroubled: false)
            quietSteps += 1
            guard quietSteps < 100_000 else {
                throw Fault(description: "\(ended.count) of \(logs.values.reduce(0, +)) records ended")
            }
            // A record may kill three processes among other records and four in isolation, and some more if Kafka loses
            // commits.
            if let worst = fruitlessDeaths.first(where: { $0.value > 9 }) {
                throw Fault(description: "\(worst.value) deaths of one record of \(worst.key)")
            }
        }
        guard poison.isSubset(of: deadLetters) else {
            throw Fault(description: "a record that kills was not set aside")
        }
    }

    private var isDone: Bool {
        logs.allSatisfy { partition, end in end == 0 || stored[partition]?.committed?.offset == end }
    }

    private mutating func start() {
        starts += 1
        process = Process(gate: IntakeGate(maximumRecords: 200 + random.below(100)))
        for (partition, stored) in stored.sorted(by: { $0.key < $1.key }) {
            let start = stored.committed.map {
                PartitionProgress.start(committed: $0.offset, row: stored.row, log: (0, .max))
            }
            process.progress[partition] = PartitionProgress(
                start: start ?? 0, committed: stored.committed, row: .some(stored.row), writer: starts)
            process.next[partition] = start ?? 0
            process.gate.assign(partition, waitingFor: [.preparation, .startCommit])
            process.isolation.assigned(
                partition, metadata: stored.committed?.metadata ?? "",
                departures: random.chance(20) ? nil : stored.departures)
        }
        _ = process.isolation.update()
        // Kafka stores the number of starts before any record begins.
        commit()
        for (partition, stored) in stored.sorted(by: { $0.key < $1.key }) {
            _ = process.isolation.prepared(
                partition, departures: stored.departures, decidedBefore: stored.row?.nextOffset)
            _ = process.isolation.update()
            process.gate.fulfil(.preparation, of: partition)
            process.gate.fulfil(.startCommit, of: partition)
        }
        commit()
    }

    private mutating func step(isTroubled: Bool) throws {
        now += 0.02
        switch random.below(isTroubled ? 100 : 90) {
        case ..<35: try fetch()
        case ..<60: finish()
        case ..<70: commit()
        case ..<75: for partition in partitions { try admitPending(of: partition) }
        case ..<80: try resumeBacklogged()
        case ..<90: try isolate()
        case ..<97: die()
        default: leave()
        }
        if process.isDead { start() }
    }

    private var partitions: [TopicPartition] { logs.keys.sorted() }

    private func admission(to partition: TopicPartition) -> CrashIsolation.Admission {
        process.isolation.admission(
            to: partition, awaitsProgress: process.progress[partition]?.awaitsProgress ?? false)
    }

    private mutating func fetch() throws {
        let partition = random.pick(partitions)
        guard process.gate.turn(now: now) == .poll, !process.paused.contains(partition),
            let next = process.next[partition], next < logs[partition] ?? 0
        else { return }
        process.next[partition] = next + 1
        let record = ConsumerRecord(topicPartition: partition, offset: next)
        if process.gate.take(record, admission(to: partition)) == .admitted { try begin(record, isIsolated: false) }
        guard process.gate.isBacklogged(partition, admission(to: partition)) else { return }
        process.gate.pausedBacklogged(partition)
        process.paused.insert(partition)
    }

    private mutating func admitPending(of partition: TopicPartition) throws {
        for record in process.gate.admitPending(of: partition, admission(to: partition)) {
            try begin(record, isIsolated: false)
        }
    }

    private mutating func resumeBacklogged() throws {
        guard !process.isolation.isActive else { return }
        for partition in process.gate.backlogged.sorted() {
            try admitPending(of: partition)
            guard process.gate.mayResumeBacklogged(partition, admission(to: partition)) else { continue }
            process.gate.resumedBacklogged(partition)
            process.paused.remove(partition)
        }
    }

    private mutating func begin(_ record: ConsumerRecord, isIsolated: Bool) throws {
        guard !process.isDead else { return }
        let place = Place(partition: record.topicPartition, offset: record.offset)
        guard process.isolation.isActive == isIsolated, !isIsolated || process.inFlight.isEmpty else {
            throw Fault(description: "\(place) began beside \(process.inFlight)")
        }
        process.progress[place.partition]?.admit(place.offset)
        process.inFlight.append(place)
        guard poison.contains(place) else { return }
        fruitlessDeaths[place.partition, default: 0] += 1
        die()
    }

    private mutating func finish() {
        guard !process.inFlight.isEmpty else { return }
        let place = process.inFlight.remove(at: random.below(process.inFlight.count))
        process.gate.release(bytes: 0)
        _ = process.progress[place.partition]?.finish(place.offset, epoch: 0, decidedIn: nil)
        process.isolation.finished(place.partition)
        ended.insert(place)
    }

    private mutating func checkpoint(_ partition: TopicPartition) {
        guard let (write, _) = process.progress[partition]?.beginCheckpoint() else { return }
        stored[partition]?.row = write.new
        _ = process.progress[partition]?.endCheckpoint(
            write, partition: 0, CheckpointResult(history: DatabaseHistory("1")))
    }

    private mutating func commit() {
        for partition in partitions {
            checkpoint(partition)
            let isolation = process.isolation
            let due = process.progress[partition]?.commitDue { isolation.metadata(of: partition, hasMoved: $0) }
            guard let due else { continue }
            if due.offset > stored[partition]?.committed?.offset ?? 0 { fruitlessDeaths[partition] = nil }
            stored[partition]?.committed = due
            process.progress[partition]?.commitSucceeded(due)
        }
    }

    private mutating func isolate() throws {
        guard process.isolation.isActive else { return }
        guard process.gate.isIdle else {
            changeAccusation()
            return
        }
        if process.isolation.update() == .ended {
            for partition in partitions { try admitPending(of: partition) }
            return
        }
        let candidates = partitions.map { partition in
            CrashIsolation.Candidate(
                partition: partition, next: process.gate.firstPending(of: partition),
                isAtEnd: process.progress[partition]?.position ?? .min >= logs[partition] ?? 0)
        }
        switch process.isolation.next(among: candidates, now: now) {
        case .isolate(let offset, let partition, let metadata):
            checkpoint(partition)
            // One in ten of the commits that name the isolated record fails.
            guard let position = process.progress[partition]?.position, !random.chance(10) else { return }
            let mark = CommitMark(offset: position, metadata: metadata)
            if position > stored[partition]?.committed?.offset ?? 0 { fruitlessDeaths[partition] = nil }
            stored[partition]?.committed = mark
            process.progress[partition]?.commitSucceeded(mark)
            process.isolation.isolated(offset, of: partition)
            if let record = process.gate.admitIsolated(of: partition) { try begin(record, isIsolated: true) }
        case .deadLetter(let offset, let partition, let deaths):
            let place = Place(partition: partition, offset: offset)
            let enough = CrashHistory.deathsOfUnreadable
            guard deaths >= enough, isolatedDeaths[place] ?? 0 >= enough else {
                throw Fault(
                    description: "\(place) is set aside after \(isolatedDeaths[place] ?? 0) deaths in isolation")
            }
            deadLetters.insert(place)
            _ = process.gate.admitIsolated(of: partition)
            process.progress[partition]?.admit(offset)
            process.inFlight.append(place)
        case nil: break
        }
    }

    /// Lets the isolated record begin to wait, or return to work.
    private mutating func changeAccusation() {
        let isAtWork = random.chance(50)
        // One in ten of the commits that name the isolated record fails.
        guard let (partition, metadata) = process.isolation.metadata(ofSuspectAtWork: isAtWork), !random.chance(10),
            let position = process.progress[partition]?.position
        else { return }
        let mark = CommitMark(offset: position, metadata: metadata)
        stored[partition]?.committed = mark
        process.progress[partition]?.commitSucceeded(mark)
        process.isolation.suspectIs(atWork: isAtWork)
    }

    private mutating func die() {
        process.isDead = true
        for (partition, stored) in stored {
            guard let suspect = CrashHistory(metadata: stored.committed?.metadata ?? "").suspect, suspect.isAtWork
            else { continue }
            isolatedDeaths[Place(partition: partition, offset: suspect.offset), default: 0] += 1
        }
    }

    /// Stops the process in order. The database always counts the departure. Kafka stores the departure in some cases.
    private mutating func leave() {
        for partition in partitions {
            stored[partition]?.departures += 1
            process.isolation.leave(partition, departures: stored[partition]?.departures)
        }
        if random.chance(60) { commit() }
        process.isDead = true
    }
}
