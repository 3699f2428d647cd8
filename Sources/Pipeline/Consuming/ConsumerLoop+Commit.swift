import Kafka
import Logging
import Operations
import PlantedFaults

extension ConsumerLoop {
    func commitInBackground(_ consumer: KafkaConsumer) {
        checkpointInBackground()
        sendCommits(consumer)
    }

    /// One at a time: librdkafka sends a refused one again by itself, and it would overtake a later one.
    /// - Parameter isStart: within the callback that assigns partitions.
    func sendCommits(_ consumer: KafkaConsumer, isStart: Bool = false) {
        mayCommit = false
        let now = WallClock.monotonicSeconds
        if let commitSentAt, now - commitSentAt < PipelineLimits.commitPatienceSeconds { return }
        var due = commitsDue(Array(partitions.keys)).filter { $0.value != partitions[$0.key]?.progress.pendingCommit }
        // Not at the start, where the new owner's own commit of its start would hide it.
        if PlantedFault.commitAfterRevoke.isPlanted, !partitions.isEmpty, !isStart {
            for (partition, offset) in givenBack where partitions[partition] == nil {
                due[partition] = CommitMark(offset: offset, metadata: "")
            }
        }
        guard !due.isEmpty else { return }
        do throws(KafkaError) {
            try consumer.commit(due)
            commitSentAt = now
            for (partition, mark) in due { partitions[partition]?.progress.commitWasSent(mark) }
        } catch {
            startsAreKnown(Array(due.keys))
            health.failures.report(error, of: .commits)
        }
    }

    /// The outcome of a commit in the background. A failed one is no trouble: the next second commits again.
    func noteCommit(_ result: Result<[TopicPartition: Int64], KafkaError>) {
        commitSentAt = nil
        switch result {
        case .success(let offsets):
            health.failures.recovered(.commits)
            var hasMoved = false
            for (partition, offset) in offsets {
                guard let state = partitions[partition], state.progress.commitSucceeded(at: offset) else { continue }
                hasMoved = hasMoved || offset != state.progress.start
            }
            startsAreKnown(Array(offsets.keys))
            if hasMoved { CrashPoint.committed.reached() }
        case .failure(let error):
            for partition in partitions.values { partition.progress.commitFailed() }
            startsAreKnown(Array(partitions.keys))
            health.failures.report(error, of: .commits)
        }
    }

    /// Before fetching begins. Records wait for the commit's outcome, the group does not: one that is given up would
    /// still be under way, and overtake a later one.
    func commitStarts(_ assigned: [TopicPartition], _ consumer: KafkaConsumer) {
        checkpointNow(assigned, seconds: PipelineLimits.finalCheckpointSeconds)
        // What is under way is of the assignment before: the broker does not take it any more.
        commitSentAt = nil
        sendCommits(consumer, isStart: true)
    }

    private func startsAreKnown(_ known: [TopicPartition]) {
        for partition in known {
            guard let state = partitions[partition] else { continue }
            state.isStartKnown = true
            admitHeld(state, of: partition)
        }
    }

    /// On the way out: waits for the database and then for the broker, for a bounded time. Committed less than decided is
    /// safe, never the reverse. False where the broker did not answer.
    @discardableResult
    func commitNow(_ leaving: [TopicPartition], _ consumer: KafkaConsumer, seconds: Double) -> Bool {
        let deadline = WallClock.monotonicSeconds + seconds
        checkpointNow(leaving, seconds: min(seconds / 2, PipelineLimits.finalCheckpointSeconds))
        if rejoinReason != nil { return true }
        let due = commitsDue(leaving)
        guard !due.isEmpty else { return true }
        let left = max(0.1, min(deadline - WallClock.monotonicSeconds, PipelineLimits.finalCommitSeconds))
        do throws(KafkaError) {
            try consumer.commit(due, timeoutMilliseconds: Int32(left * 1000))
            for (partition, mark) in due { partitions[partition]?.progress.commitSucceeded(mark) }
            return true
        } catch {
            logger.warning(
                "the last commit failed: what was decided will be recognised when it comes again",
                [.error: "\(error.name)"])
            return error.code != KafkaError.Code.timedOut
        }
    }

    private func commitsDue(_ candidates: [TopicPartition]) -> [TopicPartition: CommitMark] {
        var due: [TopicPartition: CommitMark] = [:]
        for partition in candidates { due[partition] = partitions[partition]?.commitDue }
        return due
    }
}
