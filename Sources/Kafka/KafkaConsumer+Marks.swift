import CRDKafka

extension KafkaConsumer {
    /// Starts a commit and does not wait. Throws errors that librdkafka finds at once; `onCommit` gets the result.
    public func commit(_ marks: [TopicPartition: CommitMark]) throws(KafkaError) {
        guard !marks.isEmpty else { return }
        let client = try handle().pointer
        let list = PartitionList(marks)
        try KafkaError.check(rd_kafka_commit(client, list.pointer, 1))
    }

    /// Commits and waits for the broker's answer. If no answer comes in time, throws `_TIMED_OUT`, and the broker may
    /// still commit. If a call for many partitions throws, some of them may be committed. `onCommit` is not called.
    public func commit(_ marks: [TopicPartition: CommitMark], timeoutMilliseconds: Int32) throws(KafkaError) {
        guard !marks.isEmpty else { return }
        let client = try handle().pointer
        let list = PartitionList(marks)
        guard let queue = rd_kafka_queue_new(client) else { throw KafkaError(RD_KAFKA_RESP_ERR__FAIL) }
        // Destroying the queue drops a later answer, so that only the poll below runs the callback.
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

    /// A commit's result. Only the calling thread uses it.
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
