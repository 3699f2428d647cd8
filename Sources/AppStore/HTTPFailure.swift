import Fulfillment

/// Why there is no answer.
enum HTTPFailure: Error {
    case timeout
    case connection(FailureCause)
    case tooLong

    var troubleKind: AppleAnswer.TroubleKind {
        switch self {
        case .timeout: .timeout
        case .connection: .connection
        case .tooLong: .incomplete
        }
    }

    /// Why nobody answered, nil where somebody did.
    var noAnswer: String? {
        switch self {
        case .timeout: "no answer in time"
        case .connection(let cause): cause.description
        case .tooLong: nil
        }
    }
}

extension Result<HTTPAnswer, HTTPFailure> {
    /// Why there is no answer that says anything, nil where there is one.
    var noAnswer: String? {
        switch self {
        case .failure(let failure): failure.noAnswer
        case .success(let answer): answer.status >= 500 ? "HTTP status \(answer.status)" : nil
        }
    }
}
