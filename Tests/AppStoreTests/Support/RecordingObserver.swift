import AppStore
import Fulfillment
import Synchronization

final class RecordingObserver: AppleObserver {
    struct Request: Equatable {
        let endpoint: String
        let environment: StoreEnvironment
        let result: String
        let seconds: Double
    }

    private let recorded = Mutex<[Request]>([])

    var requests: [Request] { recorded.withLock { $0 } }
    var results: [String] { requests.map { "\($0.environment.rawValue) \($0.result)" } }

    func requestEnded(endpoint: String, environment: StoreEnvironment, result: String, seconds: Double) {
        let request = Request(endpoint: endpoint, environment: environment, result: result, seconds: seconds)
        recorded.withLock { $0.append(request) }
    }
}
