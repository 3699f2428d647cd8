import Foundation
import Kafka
import Postgres
import Synchronization

@testable import Demo

/// Watches the commits, the outcomes and the workers' memory during the faults.
final class ChaosMonitor: Sendable {
    struct Findings: Sendable {
        var commitFaults: [String] = []
        var commitChecks = 0
        var highestMemoryMegabytes = 0
        var endedWorkers: [String] = []
    }

    private struct State {
        var findings = Findings()
        var highestCommitted: [Int32: Int64] = [:]
        /// The indices of committed records whose local answer was not on the topic, with the time of the first look
        /// that missed the answer.
        var unseen: [Int: ContinuousClock.Instant] = [:]
        /// The indices of records that the monitor has already reported.
        var flagged: Set<Int> = []
        /// The number of the database's losses at the last look.
        var losses = 0
        /// For each partition, the offset below which a committed record may be undecided, because the database lost
        /// data. This exception ends once all records are decided.
        var excused: [Int32: Int64] = [:]
    }

    /// The longest time between a commit and the moment when the test's consumer has read the event. A broker may be
    /// down in this time.
    private static let readingTime = Duration.seconds(30)

    private let bed: Testbed
    private let plan: Plan
    private let load: @Sendable () -> [Delivery]
    private let expectedWorkers: @Sendable () -> [Worker]
    private let databaseLife: DatabaseLife
    private let state = Mutex(State())
    private let task = Mutex<Task<Void, Never>?>(nil)

    init(
        bed: Testbed, plan: Plan, places: @escaping @Sendable () -> [Delivery],
        workers: @escaping @Sendable () -> [Worker], databaseLife: DatabaseLife = DatabaseLife()
    ) {
        self.bed = bed
        self.plan = plan
        load = places
        expectedWorkers = workers
        self.databaseLife = databaseLife
    }

    var findings: Findings { state.withLock { $0.findings } }

    func start() {
        let task = Task {
            while !Task.isCancelled {
                await look()
                try? await Task.sleep(for: .milliseconds(700))
            }
        }
        self.task.withLock { $0 = task }
    }

    func stop() async {
        let task = task.withLock { $0 }
        task?.cancel()
        await task?.value
    }

    /// Checks the workers, the commits and the outcomes once. Reads the committed offsets first, because each outcome
    /// must be durable before its offset is committed. Only one look may run at a time. A look that a fault delays
    /// would have older offsets than a later look.
    /// - Parameter isSettled: true once every record is decided. From then on no committed record may be undecided.
    func look(isSettled: Bool = false) async {
        for worker in expectedWorkers() {
            if !worker.process.isRunning, expectedWorkers().contains(where: { $0.process === worker.process }) {
                note { $0.endedWorkers.append("a worker ended by itself: \(worker.log.suffix(500))") }
            }
            let memory = ProcessMemory.residentMegabytes(of: worker.process.processID) ?? 0
            note { $0.highestMemoryMegabytes = max($0.highestMemoryMegabytes, memory) }
        }
        // During a fault the monitor itself may fail to read the offsets or the database.
        guard let losses = databaseLife.losses, let marks = try? await bed.committedOffsets(),
            let durable = try? await durablePlaces(), let checkpoints = try? await checkpoints(),
            databaseLife.losses == losses
        else { return }
        let places = load()
        state.withLock { state in
            if state.losses != losses {
                state.losses = losses
                // The workers begin again at the checkpoints in the database, and commit offsets from there.
                for (partition, mark) in marks {
                    let before = max(state.highestCommitted[partition] ?? 0, mark.committed ?? 0)
                    state.excused[partition] = max(state.excused[partition] ?? 0, before)
                }
            }
            if isSettled { state.excused = [:] }
        }
        // After a loss the database has old checkpoints until the workers begin again.
        if losses == 0 { judge(marks, checkpoints) }
        judge(marks, places, durable)
    }

    /// Checks that no committed offset is ahead of the partition's checkpoint, because workers begin at the checkpoint
    /// after a restore.
    private func judge(_ marks: [Int32: (committed: Int64?, low: Int64, high: Int64)], _ checkpoints: [Int32: Int64]) {
        for (partition, mark) in marks {
            let checkpoint = checkpoints[partition] ?? 0
            guard let committed = mark.committed, committed > checkpoint else { continue }
            note {
                $0.commitFaults.append(
                    "partition \(partition) is committed up to \(committed), and checkpointed up to \(checkpoint)")
            }
        }
    }

    private func judge(
        _ marks: [Int32: (committed: Int64?, low: Int64, high: Int64)], _ places: [Delivery],
        _ durable: Set<CommitCheck.Place>
    ) {
        let content = bed.outcomes.content
        let buried = Set(content.deadLetters.map { $0.key ?? [] })
        let now = ContinuousClock.now
        state.withLock { state in
            state.findings.commitChecks += 1
            for (partition, mark) in marks {
                guard let committed = mark.committed else { continue }
                if committed < state.highestCommitted[partition, default: 0], state.losses == 0 {
                    state.findings.commitFaults.append(
                        "partition \(partition) went back from \(state.highestCommitted[partition] ?? 0) to \(committed)"
                    )
                }
                if committed < mark.low {
                    state.findings.commitFaults.append(
                        "the broker dropped unread records: the test's load is too large")
                }
                state.highestCommitted[partition] = committed
            }
            for (index, place) in places.enumerated() where !state.flagged.contains(index) {
                let partition = place.topicPartition.partition
                guard place.offset < marks[partition]?.committed ?? 0 else { continue }
                let record = plan.records[index]
                let isLocal = record.submissionID.flatMap { plan.truths[$0]?.isLocal } ?? true
                if !isLocal {
                    // Every look checks this again, because a committed record must stay decided or parked.
                    if durable.contains(CommitCheck.Place(place)) { continue }
                    if place.offset < state.excused[partition] ?? 0 { continue }
                    state.flagged.insert(index)
                    state.findings.commitFaults.append(
                        "the record at \(partition)/\(place.offset) is committed and neither decided nor parked")
                    continue
                }
                let isSeen = record.submissionID.map { content.answers[$0] != nil } ?? buried.contains(record.key)
                if isSeen {
                    state.unseen[index] = nil
                } else if now - state.unseen[index, default: now] > Self.readingTime {
                    state.flagged.insert(index)
                    state.findings.commitFaults.append(
                        "the record at \(partition)/\(place.offset) is committed and unanswered")
                } else if state.unseen[index] == nil {
                    state.unseen[index] = now
                }
            }
        }
    }

    private func durablePlaces() async throws -> Set<CommitCheck.Place> {
        try await bed.query(
            """
            SELECT source_partition, source_offset FROM outcomes
            UNION ALL SELECT source_partition, source_offset FROM parked
            """
        ) { rows in
            Set(
                (0..<rows.count).compactMap { row in
                    guard let partition = rows.int4(row, 0), let offset = rows.int8(row, 1) else { return nil }
                    return CommitCheck.Place(partition: Int32(partition), offset: offset)
                })
        }
    }

    private func checkpoints() async throws -> [Int32: Int64] {
        try await bed.query(
            """
            SELECT partition, next_offset FROM offset_checkpoints
            WHERE group_id = '\(bed.parts.groupID)' AND topic = '\(bed.parts.submissionsTopic)'
            """
        ) { rows in
            var checkpoints: [Int32: Int64] = [:]
            for row in 0..<rows.count {
                guard let partition = rows.int4(row, 0) else { continue }
                checkpoints[Int32(partition)] = rows.int8(row, 1)
            }
            return checkpoints
        }
    }

    private func note(_ change: (inout Findings) -> Void) {
        state.withLock { change(&$0.findings) }
    }
}

enum ProcessMemory {
    /// Returns the resident memory of a process; nil if the process has ended.
    static func residentMegabytes(of processID: Int32) -> Int? { megabytes("VmRSS:", of: processID) }

    /// Returns the highest resident memory of a process so far; nil if the process has ended.
    static func highestMegabytes(of processID: Int32) -> Int? { megabytes("VmHWM:", of: processID) }

    private static func megabytes(_ name: String, of processID: Int32) -> Int? {
        guard let status = try? String(contentsOfFile: "/proc/\(processID)/status", encoding: .utf8) else { return nil }
        let line = status.split(separator: "\n").first { $0.hasPrefix(name) }
        return line.flatMap { $0.split(separator: " ").dropFirst().first.flatMap { Int($0) } }.map { $0 / 1024 }
    }
}
