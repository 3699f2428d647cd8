import CRDKafka

extension KafkaConsumer {
    /// Commits asynchronously. Throws errors that are known at once; `onCommit` gets the outcome.
    public func commit(_ marks: [TopicPartition: CommitMark]) throws(KafkaError) {
        guard !marks.isEmpty else { return }
        let client = try handle().pointer
        let list = PartitionList(marks)
        try KafkaError.check(rd_kafka_commit(client, list.pointer, 1))
    }

    /// Commits and waits for the answer. Throws `_TIMED_OUT` if none came in time; then the commit may still happen.
    /// One call for many partitions may commit some of them although it throws. No handler is called.
    public func commit(_ marks: [TopicPartition: CommitMark], timeoutMilliseconds: Int32) throws(KafkaError) {
        guard !marks.isEmpty else { return }
        let client = try handle().pointer
        let list = PartitionList(marks)
        guard let queue = rd_kafka_queue_new(client) else { throw KafkaError(RD_KAFKA_RESP_ERR__FAIL) }
        // Destroying the queue drops later answers, so that only the poll below makes the callback.
        defer { rd_kafka_queue_destroy(queue) }
        let outcome = Outcome()
        try withExtendedLifetime(outcome) { () throws(KafkaError) in
            try KafkaError.check(
                rd_kafka_commit_queue(
                    client, list.pointer, queue,
                    { _, code, offsets, opaque in
                        guard let opaque else { return }
                        let outcome = Unmanaged<Outcome>.fromOpaque(opaque).takeUnretainedValue()
                        outcome.isKnown = true
                        do throws(KafkaError) { _ = try KafkaConsumer.commitResult(code, offsets) } catch {
                            outcome.error = error
                        }
                    },
                    Unmanaged.passUnretained(outcome).toOpaque()))
            let deadline = ContinuousClock.now + .milliseconds(Int(timeoutMilliseconds))
            while !outcome.isKnown {
                let left = (deadline - ContinuousClock.now) / .milliseconds(1)
                guard left > 0 else { throw KafkaError(RD_KAFKA_RESP_ERR__TIMED_OUT) }
                rd_kafka_queue_poll_callback(queue, Int32(left.rounded(.up)))
            }
        }
        if let error = outcome.error { throw error }
    }

    /// The result of a commit. Only the calling thread uses it.
    private final class Outcome {
        var isKnown = false
        var error: KafkaError?
    }

    /// Returns the marks of the partitions that have a committed offset. Blocks.
    public func committedMarks(
        _ partitions: [TopicPartition], timeoutMilliseconds: Int32
    ) throws(KafkaError) -> [TopicPartition: CommitMark] {
        let list = PartitionList(partitions)
        try KafkaError.check(rd_kafka_committed(try handle().pointer, list.pointer, timeoutMilliseconds))
        try list.check()
        return list.marks
    }
}
