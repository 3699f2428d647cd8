/// The reason why a submission waits in PostgreSQL and not in memory.
public enum ParkingReason: String, Sendable, CaseIterable {
    /// Apple's trouble lasted longer than a submission may wait in memory.
    case appleTrouble = "apple_trouble"
    /// Apple may change its answer. The worker asks again.
    case doubt
    /// verifyReceipt answered with status 21004, or the secret's setting is empty.
    case blockedSharedSecret = "blocked_shared_secret"
    /// Apple does not accept receiptd's request: verifyReceipt's status 21000, or the other API's error 4000000.
    case blockedRequest = "blocked_request"
    /// The proof needs App Store Server API credentials, which the app does not have.
    case blockedNoServerAPI = "blocked_no_server_api"
    /// Apple does not accept the app's App Store Server API credentials, or the private key is missing.
    case blockedServerAPI = "blocked_server_api"
    /// The player already has `ParkingPolicy.placesOfPlayer` submissions in memory.
    case playerShare = "player_share"
    /// PostgreSQL refuses the submission's data. Only an operator can end the wait.
    case databaseRefused = "database_refused"
    /// Workers died while they tried the submission alone. An hour later a worker tries it once more. After that
    /// try only an operator can end the wait.
    case crashed

    public init(_ blockage: AppleAnswer.Blockage) {
        switch blockage {
        case .sharedSecret: self = .blockedSharedSecret
        case .request: self = .blockedRequest
        case .noServerAPI: self = .blockedNoServerAPI
        case .serverAPI: self = .blockedServerAPI
        }
    }

    /// The blockages that end once verifyReceipt answers for the app.
    public static let blockagesOfReceipts: [ParkingReason] = [.blockedSharedSecret, .blockedRequest]
    /// The blockages that end once the App Store Server API answers for the app, or the app has new credentials.
    public static let blockagesOfTransactions: [ParkingReason] = [.blockedNoServerAPI, .blockedServerAPI]
}
