import Logging

/// An error with a description for operators.
public protocol DescribedError: Error {
    /// The SQLSTATE, or the name of Kafka's error code; nil if the error has neither.
    var failureCode: String? { get }
    /// The key of `failureCode` in log lines.
    var failureCodeKey: LogKey { get }
    /// The error's message. It contains no secret and no data of a player.
    var failureWords: String { get }
    /// The dependency that caused the error because it could not be reached; nil for every other cause.
    var failedDependency: FailingPart? { get }
}

extension DescribedError {
    public var failureCode: String? { nil }
    public var failureCodeKey: LogKey { .code }
    public var failedDependency: FailingPart? { nil }
}

/// The description of a failure, for log lines.
public struct FailureDescription: Sendable, Equatable {
    public let code: String?
    let codeKey: LogKey
    public let words: String

    public init(code: String? = nil, codeKey: LogKey = .code, words: String) {
        self.code = code
        self.codeKey = codeKey
        self.words = words
    }

    /// Describes an error. For an error that is no `DescribedError`, the description has only the error's type, because
    /// the error's text could contain secrets.
    init(_ error: any Error) {
        if let error = error as? any DescribedError {
            self.init(code: error.failureCode, codeKey: error.failureCodeKey, words: error.failureWords)
        } else {
            self.init(words: "\(type(of: error))")
        }
    }

    var text: String { code.map { "\($0) \(words)" } ?? words }

    var fields: Logger.Fields {
        var fields: Logger.Fields = [.error: "\(words)"]
        if let code { fields[codeKey] = "\(code)" }
        return fields
    }
}
