import Encodings
import Fulfillment
import NamesAndTimes
import PooledHTTP

/// The meaning of a response's HTTP status and error code, which is the same for every query to the App Store Server
/// API.
///
/// Apple's reference defines the error codes (https://developer.apple.com/documentation/appstoreserverapi/error-codes).
enum ServerAPIResponse: Equatable {
    /// A status of 200 to 299.
    case taken(status: Int, body: [UInt8])
    /// This environment does not know the subject.
    case notFound
    case refused(code: Int64)
    case trouble(AppleAnswer.Trouble)
    /// 401: the token is wrong.
    case unauthorized
    /// The token is right, but the app or the request is wrong.
    case blocked(AppleAnswer.Blockage)

    /// - Parameter retryNotBefore: the end of the wait that the response's `Retry-After` asks for; nil if the header is
    ///   missing.
    init(status: Int, body: [UInt8], retryNotBefore: Timestamp? = nil) {
        switch status {
        case 200..<300: self = .taken(status: status, body: body)
        // The body of a 401 is empty.
        case 401: self = .unauthorized
        case 429: self = .trouble(.init(.rateLimited, retryNotBefore: retryNotBefore))
        case 500...: self = .trouble(.init(.serverError, retryNotBefore: retryNotBefore))
        default: self.init(errorBody: body, retryNotBefore: retryNotBefore)
        }
    }

    private init(errorBody: [UInt8], retryNotBefore: Timestamp?) {
        func trouble(_ kind: AppleAnswer.TroubleKind) -> ServerAPIResponse {
            .trouble(.init(kind, retryNotBefore: retryNotBefore))
        }
        guard errorBody.count <= StoreAnswerReader.maximumBytes, let document = try? JSONParser.parse(errorBody),
            case .object = document.value
        else {
            self = trouble(.notJSON)
            return
        }
        switch document.value["errorCode"]?.wholeNumber {
        // These codes mean that receiptd's request is wrong, or that Apple does not have the app. No subject of a query
        // can cause them.
        case 4_000_000: self = .blocked(.request)
        case 4_000_002, 4_040_003: self = .blocked(.serverAPI)
        case 4_040_005, 4_040_010: self = .notFound
        case 4_290_000: self = trouble(.rateLimited)
        case 5_000_000, 5_000_001: self = trouble(.serverError)
        // A fault of the query itself recurs at each try.
        case let code? where (4_000_001...4_000_999).contains(code) || (4_030_000...4_030_999).contains(code):
            self = .refused(code: code)
        // The account, the notification address, the test notification or the app transaction does not exist.
        case let code? where [4_040_001, 4_040_007, 4_040_008, 4_040_009, 4_040_019].contains(code):
            self = .refused(code: code)
        // The other codes include 4040002, 4040004 and 4040006.
        default: self = trouble(.status)
        }
    }
}

extension StoreQueryAnswer {
    /// A label value of `receiptd_apple_requests_total{result}`: `answered`, `not_found`, `refused`, `blocked`, or the
    /// kind of trouble.
    var label: String {
        switch self {
        case .answered: "answered"
        case .notFound: "not_found"
        case .refused: "refused"
        case .blocked: "blocked"
        case .trouble(let trouble): trouble.kind.rawValue
        }
    }
}
