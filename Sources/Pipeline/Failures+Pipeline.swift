import Fulfillment
import Kafka
import Operations

extension Failures {
    /// Reports a failure of `part`. Ignores `Abandoned` and `LedgerClosed`, because after these errors the process
    /// stops, or the worker gets the work again.
    func report(_ error: any Error, of part: FailingPart) {
        if error is Abandoned || error is LedgerClosed { return }
        failed(part, error)
    }
}

extension KafkaError: DescribedError {
    public var failureCode: String? { name }
    public var failureWords: String { message }

    public var failedDependency: FailingPart? {
        switch code {
        case Code.allBrokersDown, Code.transport: .kafka
        default: nil
        }
    }
}
