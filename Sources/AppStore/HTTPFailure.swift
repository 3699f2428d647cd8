import Fulfillment

/// Why there is no answer.
enum HTTPFailure: Error {
    case timeout
    case connection
    case tooLong

    var troubleKind: AppleAnswer.TroubleKind {
        switch self {
        case .timeout: .timeout
        case .connection: .connection
        case .tooLong: .incomplete
        }
    }
}
