import AsyncHTTPClient
import Fulfillment
import NIOCore

/// Why there is no answer.
enum HTTPFailure: Error {
    case timeout
    case connection
    case tooLong

    init(_ error: any Error) {
        switch error {
        case is AnswerTooLong: self = .tooLong
        case let error as HTTPClientError where Self.timeouts.contains(error): self = .timeout
        case ChannelError.connectTimeout: self = .timeout
        default: self = .connection
        }
    }

    private static let timeouts: [HTTPClientError] = [
        .deadlineExceeded, .connectTimeout, .tlsHandshakeTimeout, .getConnectionFromPoolTimeout, .readTimeout,
        .writeTimeout,
    ]

    var troubleKind: AppleAnswer.TroubleKind {
        switch self {
        case .timeout: .timeout
        case .connection: .connection
        case .tooLong: .incomplete
        }
    }
}
