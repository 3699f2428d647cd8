/// An endpoint that Apple limits separately for each app. Raw values are labels of
/// `receiptd_apple_requests_total{endpoint}`.
public enum AppleEndpoint: String, Sendable, CaseIterable {
    case verifyReceipt
    case transactions
    case subscriptions
    case transactionHistory = "transaction_history"
    case notificationHistory = "notification_history"
    case finish
    case consumption
    /// Only `receiptd check` sends requests to this endpoint.
    case testNotification = "test_notification"
    /// Only `receiptd inspect --apple-order` sends requests to this endpoint.
    case orderLookup = "order_lookup"

    /// The most own requests a second that receiptd sends for one app to one endpoint. An own request is one that no
    /// submission needs. Apple allows 50 requests a second. The other 25 are for submissions and for the studio's other
    /// programs (https://developer.apple.com/documentation/appstoreserverapi/identifying-rate-limits).
    static let ownPerSecond = 25.0
    /// The most own requests a second to the notification history for one app: a tenth of Apple's limit.
    static let historyPerSecond = 5.0

    /// The most own requests a second of all replicas together, if no setting limits them; nil for no limit.
    var ownPerSecond: Double? {
        switch self {
        case .verifyReceipt: nil
        case .notificationHistory: Self.historyPerSecond
        case .transactions, .subscriptions, .transactionHistory, .finish, .consumption, .testNotification,
            .orderLookup:
            Self.ownPerSecond
        }
    }

    var isOfProofs: Bool { self == .verifyReceipt || self == .transactions }
}
