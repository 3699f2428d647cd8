import Fulfillment
import Kafka
import Logging
import Operations

extension NotificationLoop {
    /// For librdkafka to take an order to read from elsewhere.
    private static let seekMilliseconds: Int32 = 2000

    /// True where the error is of a batch that cannot be read.
    func noteUnreadable(_ error: KafkaError) -> Bool {
        guard error.isUnreadableBatch, let place = error.place else { return false }
        if let suspicion = unreadable.failed(place, next: next(of: place.topicPartition)) {
            examination.begin(suspicion)
        }
        return true
    }

    private func next(of partition: TopicPartition) -> Int64? { partitions[partition]?.progress.position }

    /// Between two batches, about every second.
    func watchReading(_ consumer: KafkaConsumer) {
        if let (suspicion, finding) = examination.take() { examined(suspicion, finding, consumer) }
        for partition in partitions.keys {
            let suspicion = unreadable.look(
                at: partition, next: next(of: partition), end: consumer.cachedWatermarks(partition)?.high,
                mayCome: true,
                now: WallClock.monotonicSeconds)
            if let suspicion { examination.begin(suspicion) }
        }
    }

    private func examined(
        _ suspicion: UnreadableBatches.Suspicion, _ finding: Result<BatchProbe.Finding, KafkaError>,
        _ consumer: KafkaConsumer
    ) {
        unreadable.examined(suspicion)
        let partition = suspicion.partition
        guard let state = partitions[partition], next(of: partition) ?? suspicion.offset <= suspicion.offset else {
            return
        }
        do throws(KafkaError) {
            switch try finding.get() {
            case .readable:
                try consumer.seek(partition, to: suspicion.offset, timeoutMilliseconds: Self.seekMilliseconds)
            case .unreadable(let offsets, let words):
                guard bury(offsets, of: partition, words) else { return }
                state.progress.admit(offsets.lowerBound)
                state.progress.stepOver(to: offsets.upperBound)
                let epoch = state.progress.epoch
                if let restart = state.progress.finish(offsets.lowerBound, epoch: epoch, decidedIn: nil) {
                    return rejoin(restart)
                }
                commit(consumer, [partition])
                try consumer.seek(partition, to: offsets.upperBound + 1, timeoutMilliseconds: Self.seekMilliseconds)
            }
        } catch {
            logger.warning(
                "it could not be found out why a partition does not go on",
                [.topic: "\(partition.topic)", .partition: .stringConvertible(partition.partition), .error: "\(error)"])
        }
    }

    /// Blocks until the dead letter is acknowledged. False where that did not come about in time: the group is left
    /// then, and joined again.
    private func bury(_ offsets: ClosedRange<Int64>, of partition: TopicPartition, _ words: String?) -> Bool {
        let found = UnreadableBatches.Found(first: offsets.lowerBound, last: offsets.upperBound, words: words)
        logger.error(
            "a batch cannot be read and is stepped over",
            [
                .topic: "\(partition.topic)", .partition: .stringConvertible(partition.partition),
                .offset: .stringConvertible(found.first), .count: .stringConvertible(offsets.count),
                .error: "\(words ?? "librdkafka says nothing")",
            ])
        let record = ConsumerRecord(topicPartition: partition, offset: found.first)
        let isDone = BlockingWork.wait(seconds: NotificationLimits.batchSeconds) { [worker] in
            try await worker.bury(record, found.letter)
            return true
        }
        if isDone != true { mustRejoin = true }
        return isDone == true
    }
}
