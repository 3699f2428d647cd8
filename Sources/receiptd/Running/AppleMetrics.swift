import AppStore
import Fulfillment
import Operations

/// Counts and times requests to Apple.
struct AppleMetrics: AppleObserver {
    let metrics: ReceiptdMetrics

    func requestEnded(endpoint: String, environment: StoreEnvironment, result: String, seconds: Double) {
        metrics.appleRequests.with(endpoint, environment.rawValue, result).increment()
        metrics.appleRequestDuration.observe(seconds)
    }
}
