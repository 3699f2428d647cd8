import Fulfillment
import Kafka
import Logging
import Operations

/// The database's own account of how far partitions are durable: Kafka's commit follows it and never leads.
extension ConsumerLoop {
    /// Where partitions are to start: at the lower of Kafka's and the database's. Blocks for a bounded time; a database
    /// that does not answer in it is asked again before the first record is admitted.
    func readDurable(_ partitions: [TopicPartition]) -> DurableProgress? {
        guard let offsets else { return nil }
        let topic = settings.submissionsTopic
        return BlockingWork.wait(seconds: PipelineLimits.durableReadSeconds) {
            try await offsets.read(topic: topic, partitions: partitions.map(\.partition))
        }
    }

    /// Kafka's, or what the database has noted where that is lower, but nothing that is no longer in the log.
    func start(
        of partition: TopicPartition, committed: Int64, durable: DurableProgress?, earliest: Int64?
    ) -> Int64 {
        let known = [durable?.offsets[partition.partition], lowerStarts[partition]].compactMap { $0 }.min()
        guard let known, known < committed else { return committed }
        let start = max(known, min(earliest ?? known, committed))
        noteDatabaseFellBack(partition, from: committed, to: start)
        return start
    }

    private func noteDatabaseFellBack(_ partition: TopicPartition, from committed: Int64, to start: Int64) {
        worker.metrics.all.databaseFallbacks.increment()
        logger.warning(
            "the database lacks what Kafka has committed: records are decided again",
            [
                .topic: "\(partition.topic)", .partition: .stringConvertible(partition.partition),
                .offset: .stringConvertible(start), .count: .stringConvertible(committed - start),
            ])
    }

    func noteInBackground() {
        guard let offsets, !isNoting else { return }
        // Now and then also what the database has: only by that do we see it fall back while nothing comes.
        let now = WallClock.monotonicSeconds
        let isCheck = now >= nextCheck
        if isCheck { nextCheck = now + PipelineLimits.historyCheckSeconds }
        let notes = notesDue(Array(partitions.keys), withNoted: isCheck)
        guard !notes.isEmpty else { return }
        isNoting = true
        notesUnderWay = notes.count
        for note in notes {
            Task { [inbox] in
                let outcome = (try? await note.write(to: offsets)) ?? .failed
                inbox.post(.noted(note, outcome))
            }
        }
    }

    /// On the consumer's thread, for a bounded time. Whatever was not noted is not committed.
    func noteNow(_ candidates: [TopicPartition], seconds: Double) {
        guard let offsets else { return }
        let deadline = WallClock.monotonicSeconds + seconds
        for note in notesDue(candidates) {
            let left = deadline - WallClock.monotonicSeconds
            let outcome = BlockingWork.wait(seconds: left) { try await note.write(to: offsets) }
            take(note, outcome ?? .failed)
        }
    }

    /// We leave these partitions in order. The database is told too: Kafka refuses commits while a group rebalances, and
    /// what stands there then looks as if we had died. Where Kafka has nothing of ours to misread nothing is done.
    func depart(_ leaving: [TopicPartition], seconds: Double) {
        let told = leaving.filter { partitions[$0]?.hasToldOfItself ?? false }
        var departures: [Int32: Int64] = [:]
        if let offsets, !told.isEmpty {
            let topic = settings.submissionsTopic
            let numbers = told.map(\.partition)
            let counted = BlockingWork.wait(seconds: seconds) {
                try await offsets.noteDepartures(numbers, topic: topic)
            }
            departures = counted ?? [:]
        }
        for partition in leaving { partitions[partition]?.note.leave(departures: departures[partition.partition]) }
    }

    func noted(_ note: OffsetNote, _ outcome: OffsetNote.Outcome) {
        notesUnderWay -= 1
        isNoting = notesUnderWay > 0
        take(note, outcome)
    }

    private func take(_ note: OffsetNote, _ outcome: OffsetNote.Outcome) {
        switch outcome {
        case .noted:
            for (partition, place) in note.places {
                guard let state = partitions[partition], state.assignment == place.assignment, state.lap == place.lap
                else { continue }
                state.noted = place.offset
            }
            mayCommit = true
        case .otherHistory:
            // A note from before the last assignment tells nothing new.
            guard partitions.values.contains(where: { $0.history == note.history }) else { return }
            // Decisions of ours may be lost that nobody has committed yet: all partitions start at the lower offset.
            rejoin("the database fell back, or is another one")
        case .failed:
            logger.debug("offsets could not be noted yet", [.count: .stringConvertible(note.places.count)])
        }
    }

    private func notesDue(_ candidates: [TopicPartition], withNoted: Bool = false) -> [OffsetNote] {
        var notes: [DatabaseHistory: OffsetNote] = [:]
        for partition in candidates {
            guard let state = partitions[partition], let history = state.history,
                let offset = withNoted ? state.position : state.noteDue
            else { continue }
            notes[history, default: OffsetNote(history: history)].places[partition] = OffsetNote.Place(
                offset: offset, assignment: state.assignment, lap: state.lap)
        }
        return Array(notes.values)
    }

    /// Leaves the group and joins it again. Nothing is committed on the way: what was in flight comes again.
    func rejoin(_ reason: String) {
        if rejoinReason == nil { rejoinReason = reason }
    }
}
