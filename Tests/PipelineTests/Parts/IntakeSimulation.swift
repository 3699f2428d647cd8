import Kafka
import TestSupport

@testable import Pipeline

/// A simulation of a window, of partitions that come and go, and of a broker that delivers records of partitions that
/// are not paused. The simulation runs in one thread, and a seed decides each step. The gate is the real type.
struct IntakeSimulation {
    struct Fault: Error, CustomStringConvertible {
        let description: String
    }

    private struct Partition {
        var end: Int64
        var next: Int64 = 0
        var begun: Int64 = 0
        var isPaused = false
        var waitsFor: [IntakeGate.Prerequisite] = [.preparation, .startCommit]
        var isClosed = false
    }

    private var random: SeededRandom
    private let maximumRecords: Int
    private var gate: IntakeGate
    private var partitions: [TopicPartition: Partition] = [:]
    private var inFlight = 0
    private var now = 0.0

    init(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        maximumRecords = 1 + random.below(12)
        gate = IntakeGate(maximumRecords: maximumRecords)
        self.random = random
        for number in 0..<Int32(1 + self.random.below(4)) { assign(number) }
    }

    mutating func run() throws {
        for _ in 0..<(50 + random.below(400)) { try step(isTroubled: true) }
        var quietSteps = 0
        while !isDone {
            try step(isTroubled: false)
            quietSteps += 1
            guard quietSteps < 50_000 else {
                throw Fault(description: "records are never begun: \(partitions), paused \(gate.isPaused)")
            }
        }
        guard gate.records == 0 else { throw Fault(description: "the window leaks \(gate.records) places") }
    }

    private var isDone: Bool {
        inFlight == 0 && partitions.values.allSatisfy { !$0.isClosed && $0.begun == $0.end }
    }

    private var names: [TopicPartition] { partitions.keys.sorted() }

    private mutating func assign(_ number: Int32) {
        let partition = TopicPartition(topic: "t", partition: number)
        partitions[partition] = Partition(end: Int64(random.below(40)))
        gate.assign(partition, waitingFor: [.preparation, .startCommit])
    }

    private mutating func step(isTroubled: Bool) throws {
        now += 0.3
        switch random.below(isTroubled ? 100 : 95) {
        case ..<50: try turn()
        case ..<80: finish()
        case ..<90: try ready(random.pick(names))
        case ..<95: replaceClosed()
        case ..<98:
            let partition = random.pick(names)
            gate.close(partition)
            partitions[partition]?.isClosed = true
        default:
            // A new consumer replaces the old one, and has no paused partition.
            gate.reopen()
            for partition in names { replace(partition) }
        }
        guard gate.records <= maximumRecords else {
            throw Fault(description: "\(gate.records) in a window of \(maximumRecords)")
        }
    }

    /// Runs one turn of the consumer's loop.
    private mutating func turn() throws {
        switch gate.turn(now: now) {
        case .wait: return
        case .pause: try pause()
        case .resume:
            try resume()
            if gate.isFull { return }
        case .poll: break
        }
        let readable = names.filter { name in
            partitions[name].map { !$0.isPaused && $0.next < $0.end } ?? false
        }
        guard let partition = readable.randomElement(using: &random), let next = partitions[partition]?.next else {
            return
        }
        partitions[partition]?.next += 1
        let taken = gate.take(ConsumerRecord(topicPartition: partition, offset: next), .unlimited)
        if taken == .admitted { try begin(next, of: partition) }
        if gate.isPaused { try pause() }
    }

    private mutating func pause() throws {
        let pausable = gate.pausable
        for partition in pausable {
            guard partitions[partition]?.next ?? 0 > 0 else {
                throw Fault(description: "\(partition) was paused before it had given a record")
            }
            partitions[partition]?.isPaused = true
        }
        gate.paused(pausable)
    }

    private mutating func resume() throws {
        var resumable = gate.resume()
        for partition in names { try admitPending(of: partition) }
        // In one call of ten, librdkafka resumes no partition.
        if random.chance(10) { resumable = [] }
        for partition in resumable { partitions[partition]?.isPaused = false }
        gate.resumed(resumable)
    }

    private mutating func admitPending(of partition: TopicPartition) throws {
        for record in gate.admitPending(of: partition, .unlimited) { try begin(record.offset, of: partition) }
    }

    private mutating func begin(_ offset: Int64, of name: TopicPartition) throws {
        guard let partition = partitions[name], partition.waitsFor.isEmpty, !partition.isClosed,
            partition.begun == offset
        else { throw Fault(description: "\(offset) of \(name) begins: \(String(describing: partitions[name]))") }
        partitions[name]?.begun += 1
        inFlight += 1
    }

    private mutating func finish() {
        guard inFlight > 0 else { return }
        inFlight -= 1
        gate.release(bytes: 0)
    }

    private mutating func ready(_ name: TopicPartition) throws {
        guard let prerequisite = partitions[name]?.waitsFor.randomElement(using: &random) else { return }
        partitions[name]?.waitsFor.removeAll { $0 == prerequisite }
        gate.fulfil(prerequisite, of: name)
        try admitPending(of: name)
    }

    private mutating func replaceClosed() {
        for partition in names where partitions[partition]?.isClosed == true { replace(partition) }
    }

    /// Revokes the partition and assigns it again with other records. Records in flight keep their places.
    private mutating func replace(_ partition: TopicPartition) {
        gate.forget(partition)
        assign(partition.partition)
    }
}
