import AppStore
import Foundation
import Fulfillment
import Synchronization

/// Notes why Apple did not answer at an address, for a line of `receiptd check`.
final class ReachNote: AppleObserver {
    private let cause = Mutex<String?>(nil)

    func requestEnded(endpoint: String, environment: StoreEnvironment, result: String, seconds: Double) {}

    func reached(_ url: String, noAnswer: String?) {
        let told = noAnswer.map { "no answer from \(Self.place(in: url)): \($0)" }
        cause.withLock { $0 = told }
    }

    /// Returns a sentence about the failed request. If there was no answer at all, the sentence names the host, the
    /// port and the system's error.
    func words(_ trouble: AppleAnswer.Trouble) -> String {
        cause.withLock { $0 } ?? "receiptd cannot use Apple's answer (\(trouble.kind.rawValue)): run the check again"
    }

    /// Returns `host:port` of a URL, or the whole URL if the URL has no host.
    private static func place(in url: String) -> String {
        guard let parts = URLComponents(string: url), let host = parts.host else { return url }
        return "\(host):\(parts.port ?? (parts.scheme?.lowercased() == "http" ? 80 : 443))"
    }
}
