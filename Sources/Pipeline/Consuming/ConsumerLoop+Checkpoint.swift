import Fulfillment
import Kafka
import Logging
import Operations

/// The database's own account of how far partitions are decided: Kafka's commit follows it and never leads.
extension ConsumerLoop {
    /// Where a partition starts: at what Kafka has committed, or at the checkpoint where that is lower, but at nothing that
    /// is no longer in the log. Nothing is committed without a checkpoint: where there is none, the database is from before
    /// the first, and everything is read again.
    func start(
        of partition: TopicPartition, committed: Int64, stored: StoredCheckpoints?, earliest: Int64?
    ) -> Int64 {
        let checkpoint = stored.map { $0.checkpoints[partition.partition]?.nextOffset ?? 0 }
        let known = [checkpoint, lowerStarts[partition]].compactMap { $0 }.min()
        guard let known, known < committed else { return committed }
        let start = max(known, min(earliest ?? known, committed))
        guard start < committed else { return committed }
        worker.metrics.all.databaseFallbacks.increment()
        logger.warning(
            "the database lacks what Kafka has committed: records are decided again",
            [
                .topic: "\(partition.topic)", .partition: .stringConvertible(partition.partition),
                .offset: .stringConvertible(start), .count: .stringConvertible(committed - start),
            ])
        return start
    }

    func checkpointInBackground() {
        guard checkpointsUnderWay == 0 else { return }
        let now = WallClock.monotonicSeconds
        let batches = checkpointer.begin(partitions)
        checkpointsUnderWay = batches.count
        for batch in batches {
            Task { [inbox, checkpointer] in
                let result = await checkpointer.reporting { try await batch.write(to: checkpointer.store) }
                inbox.post(.checkpointed(batch, result))
            }
        }
        // Only by that is a database seen to fall back while nothing comes.
        guard now >= nextLook, let look = checkpointer.beginLook(partitions) else { return }
        nextLook = now + PipelineLimits.historyCheckSeconds
        Task { [inbox, checkpointer] in
            let found = await checkpointer.reporting { try await look.read(from: checkpointer.store) }
            if let found { inbox.post(.looked(look, found)) }
        }
    }

    /// On the consumer's thread, for a bounded time.
    func checkpointNow(_ candidates: [TopicPartition], seconds: Double) {
        let owners = partitions.filter { candidates.contains($0.key) }
        if let restart = checkpointer.writeNow(owners, seconds: seconds) { rejoin(restart) }
    }

    func checkpointed(_ batch: CheckpointBatch, _ result: CheckpointResult?) {
        checkpointsUnderWay -= 1
        if let restart = checkpointer.end(batch, result, partitions) { return rejoin(restart) }
        mayCommit = true
    }

    /// Owners that leave in order tell the database too: Kafka refuses commits while a group rebalances, and what it holds
    /// then looks as if we had died. Where Kafka has nothing of ours to misread nothing is done.
    func depart(_ leaving: [TopicPartition], seconds: Double) {
        let told = leaving.filter { partitions[$0]?.hasToldOfItself ?? false }
        var departures: [Int32: Int64] = [:]
        if !told.isEmpty {
            let counted = checkpointer.wait(seconds: seconds) { [store = checkpointer.store, checkpointer] in
                try await store.countDepartures(told.map(\.partition), topic: checkpointer.topic)
            }
            departures = counted ?? [:]
        }
        for partition in leaving { partitions[partition]?.note.leave(departures: departures[partition.partition]) }
    }

    /// Leaves the group and joins it again: all partitions start at the lower offset. Nothing is committed on the way, and
    /// what was in flight comes again.
    func rejoin(_ restart: PartitionProgress.Restart) { rejoin(restart.rawValue) }

    func rejoin(_ reason: String) {
        if rejoinReason == nil { rejoinReason = reason }
    }
}
