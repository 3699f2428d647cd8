enum ServerAPIAnswer: Sendable {
    /// HTTP 200 with a JSON body.
    case json(String)
    /// HTTP 200 or 202 without a body.
    case done(status: Int)
    case error(ServerAPIFault)
    case unauthorized
}

/// An error with Apple's `errorCode`, whose first three digits are the HTTP status.
struct ServerAPIFault: Error, Sendable, Equatable {
    let code: Int
    var message = "Simulated."

    static let badRequest = ServerAPIFault(code: 4_000_000, message: "Bad request.")
    static let invalidRevision = ServerAPIFault(code: 4_000_005)
    static let invalidTransactionID = ServerAPIFault(code: 4_000_006)
    static let startDateTooFarInPast = ServerAPIFault(code: 4_000_012)
    static let startDateAfterEndDate = ServerAPIFault(code: 4_000_013)
    static let invalidPaginationToken = ServerAPIFault(code: 4_000_014)
    static let invalidStartDate = ServerAPIFault(code: 4_000_015)
    static let invalidEndDate = ServerAPIFault(code: 4_000_016)
    static let multipleFilters = ServerAPIFault(code: 4_000_019)
    static let invalidSort = ServerAPIFault(code: 4_000_021)
    static let invalidProductType = ServerAPIFault(code: 4_000_022)
    static let invalidRevoked = ServerAPIFault(code: 4_000_030)
    static let invalidStatus = ServerAPIFault(code: 4_000_031)
    static let invalidCustomerConsented = ServerAPIFault(code: 4_000_035)
    static let invalidDeliveryStatus = ServerAPIFault(code: 4_000_036)
    static let invalidSampleContentProvided = ServerAPIFault(code: 4_000_041)
    static let invalidRefundPreference = ServerAPIFault(code: 4_000_044)
    static let familyTransaction = ServerAPIFault(code: 4_000_185)
    /// Apple documents `percentageOutOfRange` and `percentageOfUndelivered` without numbers. The simulation gives them
    /// the two numbers before 4000209, which is Apple's number for `percentageOfSubscription`. All three errors are
    /// permanent: a retry cannot succeed.
    static let percentageOutOfRange = ServerAPIFault(code: 4_000_207)
    static let percentageOfUndelivered = ServerAPIFault(code: 4_000_208)
    static let percentageOfSubscription = ServerAPIFault(code: 4_000_209)
    static let testNotificationNotFound = ServerAPIFault(code: 4_040_008, message: "Test notification not found.")
    static let noNotificationURL = ServerAPIFault(code: 4_040_007)
    static let transactionNotFound = ServerAPIFault(code: 4_040_010, message: "Transaction id not found.")
}
