import Fulfillment
import Kafka
import Logging
import Operations

extension ConsumerLoop {
    /// For librdkafka to take an order to read from elsewhere.
    private static let seekMilliseconds: Int32 = 2000

    /// True where the error is of a batch that cannot be read.
    func noteUnreadable(_ error: KafkaError) -> Bool {
        guard error.isUnreadableBatch, let place = error.place else { return false }
        let partition = partitions[place.topicPartition]
        if let suspicion = unreadable.failed(place, next: partition?.next ?? partition?.progress.start) {
            suspect(suspicion, error.message)
        }
        return true
    }

    /// Every second.
    func watchReading(_ consumer: KafkaConsumer) {
        if let (suspicion, finding) = examination.take() { examined(suspicion, finding, consumer) }
        let isTaking = !isPaused && !window.isFull && !isCareful
        for (partition, state) in partitions {
            let mayCome = isTaking && !state.isPaused && !state.isHeldBack && !leaving.contains(partition)
            let suspicion = unreadable.look(
                at: partition, next: state.next ?? state.progress.start,
                end: consumer.cachedWatermarks(partition)?.high,
                mayCome: mayCome, now: WallClock.monotonicSeconds)
            if let suspicion { suspect(suspicion, "there are records, and none comes") }
        }
    }

    private func suspect(_ suspicion: UnreadableBatches.Suspicion, _ words: String) {
        logger.warning(
            "a partition does not go on: it is found out whether a batch cannot be read",
            [
                .topic: "\(suspicion.partition.topic)",
                .partition: .stringConvertible(suspicion.partition.partition),
                .offset: .stringConvertible(suspicion.offset), .error: "\(words)",
            ])
        examination.begin(suspicion)
    }

    private func examined(
        _ suspicion: UnreadableBatches.Suspicion, _ finding: Result<BatchProbe.Finding, KafkaError>,
        _ consumer: KafkaConsumer
    ) {
        unreadable.examined(suspicion)
        let partition = suspicion.partition
        // What came meanwhile, or another assignment, makes it void.
        guard let state = partitions[partition], !leaving.contains(partition),
            state.next ?? state.progress.start ?? suspicion.offset <= suspicion.offset
        else { return }
        do throws(KafkaError) {
            switch try finding.get() {
            case .readable:
                // Whatever it was that librdkafka waited for: it begins anew there.
                try consumer.seek(partition, to: suspicion.offset, timeoutMilliseconds: Self.seekMilliseconds)
            case .unreadable(let offsets, let words):
                stepOver(offsets, of: partition, words)
                try consumer.seek(partition, to: offsets.upperBound + 1, timeoutMilliseconds: Self.seekMilliseconds)
            }
        } catch {
            logger.warning(
                "it could not be found out why a partition does not go on",
                [.topic: "\(partition.topic)", .partition: .stringConvertible(partition.partition), .error: "\(error)"])
        }
    }

    /// A record without a value takes the place of all of them: it becomes the dead letter, and all of them are done when
    /// that is acknowledged.
    private func stepOver(_ offsets: ClosedRange<Int64>, of partition: TopicPartition, _ words: String?) {
        let found = UnreadableBatches.Found(first: offsets.lowerBound, last: offsets.upperBound, words: words)
        unreadable.keep(found, of: partition)
        take(ConsumerRecord(topicPartition: partition, offset: found.first))
        partitions[partition]?.next = found.last + 1
        logger.error(
            "a batch cannot be read and is stepped over",
            [
                .topic: "\(partition.topic)", .partition: .stringConvertible(partition.partition),
                .offset: .stringConvertible(found.first), .count: .stringConvertible(offsets.count),
                .error: "\(words ?? "librdkafka says nothing")",
            ])
    }
}

extension UnreadableBatches.Found {
    var letter: DeadLetter {
        let words = words ?? "librdkafka makes nothing of it"
        return DeadLetter(
            reason: .unreadableBatch, detail: "offsets \(first) to \(last) cannot be read: \(words)", lastOffset: last)
    }
}
