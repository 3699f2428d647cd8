/// A notification that the simulated App Store made, and the results of posting it.
public struct ToldNotification: Sendable {
    /// The result of one post, as Get Notification History shows it.
    public enum AttemptResult: String, Sendable, Hashable, Codable, CaseIterable {
        case success = "SUCCESS"
        case timedOut = "TIMED_OUT"
        case noResponse = "NO_RESPONSE"
        case unsuccessfulHTTPResponseCode = "UNSUCCESSFUL_HTTP_RESPONSE_CODE"
        case other = "OTHER"
    }

    public struct Attempt: Sendable, Hashable {
        public let at: Int64
        public let result: AttemptResult
    }

    public let notification: SimulatedNotification
    /// The id of the notification's transaction; nil if the notification is about no purchase.
    public let transactionID: String?
    let account: SimulatedAccount?
    public internal(set) var attempts: [Attempt] = []

    /// The token with which a client asks Get Test Notification Status about this notification.
    var testToken: String { "\(notification.id)_\(notification.signedDateMilliseconds)" }

    var reachedServer: Bool { attempts.contains { $0.result == .success } }
}

extension SimulatedStore {
    /// Makes a TEST notification, which is about no purchase.
    public mutating func sendTest(bundleID: String, environment: SimulatedEnvironment = .production) throws(Fault) {
        let app = try app(bundleID)
        guard app.hasNotificationURL else { return }
        let notification = SimulatedNotification(
            type: "TEST", id: nextUUID(), bundleID: bundleID,
            appAppleID: environment == .production ? app.appAppleID : nil, environment: environment,
            signedDateMilliseconds: now, transaction: nil)
        notifications.append(ToldNotification(notification: notification, transactionID: nil, account: nil))
    }

    /// Makes a notification about a transaction, such as `METADATA_UPDATE`. Changes nothing else in the store.
    public mutating func send(_ type: String, _ subtype: String? = nil, of id: String) throws(Fault) {
        notify(type, subtype, of: try transaction(id))
    }

    /// Adds the result of one post to a notification.
    public mutating func attempted(_ id: String, _ result: ToldNotification.AttemptResult) throws(Fault) {
        guard let index = notifications.lastIndex(where: { $0.notification.id == id }) else {
            throw .unknownNotification(id)
        }
        notifications[index].attempts.append(.init(at: now, result: result))
    }

    /// Makes a notification, unless the app has no address for notifications.
    /// - Parameter transaction: the transaction after the change.
    mutating func notify(
        _ type: String, _ subtype: String? = nil, of transaction: StoreTransaction,
        _ adjust: (inout SimulatedNotification) -> Void = { _ in }
    ) {
        guard let app = apps[transaction.account.bundleID], app.hasNotificationURL else { return }
        let environment = transaction.account.environment
        var notification = SimulatedNotification(
            type: type, id: nextUUID(), bundleID: app.bundleID,
            appAppleID: environment == .production ? app.appAppleID : nil, environment: environment,
            signedDateMilliseconds: now, transaction: transaction.claims(signedAt: now))
        notification.subtype = subtype
        if let subscription = subscriptions[transaction.originalID] {
            notification.renewal = subscription.claims(signedAt: now)
            notification.status = subscription.state(at: now).status
        }
        adjust(&notification)
        notifications.append(
            ToldNotification(
                notification: notification, transactionID: transaction.id, account: transaction.account))
    }
}
