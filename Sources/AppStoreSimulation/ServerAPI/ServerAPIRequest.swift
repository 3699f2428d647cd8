import Foundation

/// An endpoint for which the simulated App Store has a count and a behaviour of its own. The raw value is the
/// endpoint's name in counters, in the log and in the control API.
public enum SimulatedEndpoint: String, Sendable, Hashable, Codable, CaseIterable {
    case verifyReceipt = "verify_receipt"
    /// Get Transaction Info.
    case transactions
    /// Get All Subscription Statuses.
    case subscriptions
    /// Get Transaction History, version 2.
    case history
    /// Get Notification History.
    case notifications
    /// Request a Test Notification, and Get Test Notification Status.
    case testNotification = "test_notification"
    case finish
    /// Send Consumption Information, version 2.
    case consumption
    /// Look Up Order ID.
    case lookup
}

struct ServerAPIRequest {
    let endpoint: SimulatedEndpoint
    /// The id of the transaction or the order, or the token of a test notification. Empty for the notification history
    /// and for a new test notification.
    let id: String
    let query: [(name: String, value: String)]
    let body: [UInt8]

    /// Returns nil for a path or a method that Apple does not serve.
    /// - Parameter uri: the path with its query; anything before `/inApps/` is ignored.
    init?(method: String, uri: String, body: [UInt8]) {
        guard let start = uri.range(of: "/inApps/") else { return nil }
        let parts = uri[start.upperBound...].split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let path = parts[0].split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        switch (method, path.count, path.prefix(2).joined(separator: "/")) {
        case ("GET", 3, "v1/transactions"): endpoint = .transactions
        case ("GET", 3, "v1/subscriptions"): endpoint = .subscriptions
        case ("GET", 3, "v2/history"): endpoint = .history
        case ("GET", 3, "v1/lookup"): endpoint = .lookup
        case ("POST", 3, "v1/notifications") where path[2] == "history": endpoint = .notifications
        case ("POST", 3, "v1/notifications") where path[2] == "test": endpoint = .testNotification
        case ("GET", 4, "v1/notifications") where path[2] == "test": endpoint = .testNotification
        case ("POST", 4, "v1/transactions") where path[3] == "finish": endpoint = .finish
        case ("PUT", 4, "v2/transactions") where path[2] == "consumption": endpoint = .consumption
        default: return nil
        }
        switch endpoint {
        case .notifications: id = ""
        case .testNotification: id = path.count > 3 ? path[3] : ""
        case .consumption: id = path[3]
        default: id = path[2]
        }
        query = Self.query(parts.count > 1 ? parts[1] : "")
        self.body = body
    }

    func values(_ name: String) -> [String] { query.filter { $0.name == name }.map(\.value) }

    func value(_ name: String) -> String? { values(name).last }

    private static func query(_ text: Substring) -> [(name: String, value: String)] {
        text.split(separator: "&").map { pair in
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return (unescaped(parts[0]), parts.count > 1 ? unescaped(parts[1]) : "")
        }
    }

    private static func unescaped(_ text: Substring) -> String {
        text.replacing("+", with: " ").removingPercentEncoding ?? String(text)
    }
}
