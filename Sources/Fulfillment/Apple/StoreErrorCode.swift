/// Error codes of the App Store Server API on which receiptd's next step depends
/// (https://developer.apple.com/documentation/appstoreserverapi/error-codes).
public enum StoreErrorCode {
    /// Apple does not accept the page's token, or has stopped accepting it. The reader begins again at the first page.
    public static let invalidRevision: Int64 = 4_000_005
    public static let invalidTransactionID: Int64 = 4_000_006
    public static let startDateTooFarInPast: Int64 = 4_000_012
    public static let invalidPaginationToken: Int64 = 4_000_014
    static let paginationTokenExpired: Int64 = 4_000_017
    /// The app has no address for version 2 notifications. So Apple sends the app no notifications, and keeps no
    /// history of notifications.
    public static let noNotificationURL: Int64 = 4_040_007

    /// receiptd's own code, which Apple never sends. The code means that receiptd cannot read Apple's signed data, and
    /// that Apple's next answer would have the same data.
    public static let unreadableAnswer: Int64 = 0

    public static func restartsPaging(_ code: Int64) -> Bool {
        [invalidRevision, invalidPaginationToken, paginationTokenExpired].contains(code)
    }
}

extension StoreQueryAnswer {
    /// True if Apple refused the page's token, so that the reader must begin again at the first page.
    public var restartsPaging: Bool {
        if case .refused(let code) = self { StoreErrorCode.restartsPaging(code) } else { false }
    }
}
