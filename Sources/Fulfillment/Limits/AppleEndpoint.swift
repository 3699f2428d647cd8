/// An endpoint that Apple limits for each app by itself. Raw values are labels of
/// `receiptd_apple_requests_total{endpoint}`.
public enum AppleEndpoint: String, Sendable, CaseIterable {
    case verifyReceipt
    case transactions
    case subscriptions
    case transactionHistory = "transaction_history"
    case notificationHistory = "notification_history"
    case finish
    case consumption
    /// Asked by `receiptd check` alone.
    case testNotification = "test_notification"
    /// Asked by `receiptd inspect --apple-order` alone.
    case orderLookup = "order_lookup"

    /// Apple takes 50 requests a second of an app at each of these endpoints: half of that is left to submissions, and to
    /// whatever else of the studio asks (https://developer.apple.com/documentation/appstoreserverapi/identifying-rate-limits).
    static let ownPerSecond = 25.0
    /// A tenth of what Apple takes.
    static let historyPerSecond = 5.0

    /// Requests a second, for all replicas, that receiptd asks by itself where no setting bounds them; nil: no bound.
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
