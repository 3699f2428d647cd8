import Kafka
import Synchronization

/// Runs a `BatchProbe`, which looks for an unreadable batch, on another thread. Keeps the result until the consumer's
/// thread takes it.
final class BatchExamination: Sendable {
    typealias Outcome = (suspicion: UnreadableBatches.Suspicion, finding: Result<BatchProbe.Finding, KafkaError>)

    private let probe: BatchProbe
    private let outcome = Mutex<Outcome?>(nil)

    init(probe: BatchProbe) { self.probe = probe }

    /// Starts an examination. Call it only while none is running.
    func begin(_ suspicion: UnreadableBatches.Suspicion) {
        BlockingWork.run { [self] in
            let finding = Result { () throws(KafkaError) in
                try probe.examine(suspicion.partition, at: suspicion.offset)
            }
            outcome.withLock { $0 = (suspicion, finding) }
        }
    }

    /// Returns the result and forgets it; nil if there is no new result.
    func take() -> Outcome? {
        outcome.withLock { outcome in
            defer { outcome = nil }
            return outcome
        }
    }
}
