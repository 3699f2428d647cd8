import Kafka
import Operations
import Synchronization

/// Records whether the pipeline must stop, and the reason if it ended early.
final class ShutdownState: Sendable {
    private struct State {
        var isStopping = false
        var ended: PartEnded?
        var failure: KafkaError?
    }

    private let state = Mutex(State())

    var isStopping: Bool { state.withLock(\.isStopping) }
    /// The error that ended the consumer; nil if there is none.
    var failure: KafkaError? { state.withLock(\.failure) }
    var ended: PartEnded? { state.withLock(\.ended) }

    func stop() { state.withLock { $0.isStopping = true } }

    func consumerFailed(_ failure: KafkaError) { state.withLock { $0.failure = failure } }

    /// Notes a part that ended early. Only the first such part is kept.
    func partEnded(_ ended: PartEnded) {
        state.withLock { $0.ended = $0.ended ?? ended }
    }
}
