import Kafka
import Logging
import Operations

/// Pauses and resumes partitions in librdkafka, as `IntakeGate` decides. Only the consumer's thread uses it.
struct FetchControl {
    let assignment: PartitionAssignment
    let intake: RecordIntake
    let paused: Gauge
    let logger: Logger

    func pause(_ consumer: KafkaConsumer) {
        let pausable = assignment.gate.pausable
        do throws(KafkaError) {
            if !pausable.isEmpty { try consumer.pause(pausable) }
            assignment.gate.paused(pausable)
        } catch {
            logger.warning("partitions could not be paused", [.error: "\(error.name)"])
        }
        paused.set(assignment.gate.isPaused)
    }

    func resume(_ consumer: KafkaConsumer) {
        var resumable = assignment.gate.resume()
        for partition in assignment.all { intake.admitPending(of: partition) }
        do throws(KafkaError) { try consumer.resume(resumable) } catch {
            logger.warning("partitions could not be resumed", [.error: "\(error.name)"])
            resumable = []
        }
        assignment.gate.resumed(resumable)
        paused.set(assignment.gate.isPaused)
    }

    /// Notes that the consumer was closed, which ended all pauses.
    func reopen() {
        assignment.gate.reopen()
        paused.set(false)
    }

    /// Pauses partitions if the gate's decision on a record requires it. Call this after each record. After a deferred
    /// record (one that came during the pause), this pauses the record's partition, which still fetches. After a
    /// pending record (one that does not begin yet), this pauses the record's partition alone if the partition has
    /// enough pending records.
    func took(_ taken: IntakeGate.Taken, from partition: TopicPartition, _ consumer: KafkaConsumer) {
        if taken == .deferred { pause(consumer) }
        guard taken == .pending, assignment.gate.isBacklogged(partition, assignment.admission(to: partition)) else {
            return
        }
        do throws(KafkaError) {
            try consumer.pause([partition])
            assignment.gate.pausedBacklogged(partition)
        } catch {
            logger.debug("a partition could not be paused", [.error: "\(error.name)"])
        }
    }

    /// Resumes each partition that `took` paused alone and that needs more pending records.
    func resumeBacklogged(_ consumer: KafkaConsumer) {
        guard !assignment.isolation.isRestricted else { return }
        for partition in assignment.gate.backlogged {
            intake.admitPending(of: partition)
            guard assignment.gate.mayResumeBacklogged(partition, assignment.admission(to: partition)) else { continue }
            do throws(KafkaError) {
                try consumer.resume([partition])
                assignment.gate.resumedBacklogged(partition)
            } catch {
                logger.debug("a partition could not be resumed", [.error: "\(error.name)"])
            }
        }
    }

    /// Wakes librdkafka's threads if no record came although a partition's log has more records. Does so once, and not
    /// again before the next record. So a log that ends in a transaction's marker, which is not a record, costs at most
    /// one request.
    func wakeFetchers(_ consumer: KafkaConsumer) {
        let starving = assignment.gate.takeStarving()
        guard !starving.isEmpty else { return }
        consumer.wakeFetchers(
            of: starving.compactMap { partition, next in
                guard let marks = consumer.cachedWatermarks(partition), marks.high > next else { return nil }
                return partition
            })
    }
}
