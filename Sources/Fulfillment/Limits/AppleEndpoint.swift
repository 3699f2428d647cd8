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
    /// Only `receiptd check` asks it.
    case testNotification = "test_notification"
    /// Only `receiptd inspect --apple-order` asks it.
    case orderLookup = "order_lookup"

    /// The most requests a second of receiptd's own, at one endpoint for one app. Apple takes 50; the other half is for
    /// submissions and for the studio's other programs
    /// (https://developer.apple.com/documentation/appstoreserverapi/identifying-rate-limits).
    static let ownPerSecond = 25.0
    /// The same limit at the notification history: a tenth of Apple's limit.
    static let historyPerSecond = 5.0

    /// The most requests a second of receiptd's own, for all replicas together, if no setting limits them; nil for no
    /// limit.
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
