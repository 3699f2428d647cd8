/// The reason why a submission waits in PostgreSQL and not in memory.
public enum ParkingReason: String, Sendable, CaseIterable {
    /// Apple gave no answer for as long as it may be tried from memory.
    case appleTrouble = "apple_trouble"
    /// Apple may take its answer back: it is asked again, later than memory waits.
    case doubt
    /// 21004, or a secret that is set nowhere.
    case blockedSharedSecret = "blocked_shared_secret"
    /// 21000: Apple does not take our request.
    case blockedRequest = "blocked_request"
    /// The proof needs App Store Server API credentials that the app does not have.
    case blockedNoServerAPI = "blocked_no_server_api"
    /// Apple does not take the app's App Store Server API credentials, or its private key is missing.
    case blockedServerAPI = "blocked_server_api"
    /// The player has as many submissions in memory as one may have.
    case playerShare = "player_share"
    /// PostgreSQL does not take this submission's data: only an operator ends the wait.
    case databaseRefused = "database_refused"
    /// Workers died with it in isolation: it is tried once more, an hour later, and then only an operator ends the wait.
    case crashed

    public init(_ blockage: AppleAnswer.Blockage) {
        switch blockage {
        case .sharedSecret: self = .blockedSharedSecret
        case .request: self = .blockedRequest
        case .noServerAPI: self = .blockedNoServerAPI
        case .serverAPI: self = .blockedServerAPI
        }
    }

    /// Ended by an answer of verifyReceipt for the app; until then no try can succeed.
    public static let blockagesOfReceipts: [ParkingReason] = [.blockedSharedSecret, .blockedRequest]
    /// Ended by an answer of the App Store Server API for the app, or by credentials for it.
    public static let blockagesOfTransactions: [ParkingReason] = [.blockedNoServerAPI, .blockedServerAPI]
}
