import Kafka
import Logging
import Operations

/// Pauses and resumes partitions as `IntakeGate` decides. On the consumer's thread.
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

    /// Notes that the consumer is gone.
    func reopen() {
        assignment.gate.reopen()
        paused.set(false)
    }

    /// Notes a record. Call it after each one: its partition may be late to be paused, or have enough records pending.
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

    /// Resumes partitions that were paused alone and need not be any longer.
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

    /// Wakes librdkafka's threads if nothing is at hand although there are places and the log is known to go on. It
    /// does so once until the next record. A log that ends in something else than records (a transaction's marker, say)
    /// so costs one question at most.
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
