import Logging

/// An error that can be told to operators.
public protocol DescribedError: Error {
    /// An SQLSTATE, or the name of a code of Kafka's; nil where there is none.
    var failureCode: String? { get }
    /// The key of `failureCode` in log lines.
    var failureCodeKey: LogKey { get }
    /// The message of what failed. It holds no secret, and nothing that a player sent.
    var failureWords: String { get }
    /// What is out of reach, where that is why.
    var failedDependency: FailingPart? { get }
}

extension DescribedError {
    public var failureCode: String? { nil }
    public var failureCodeKey: LogKey { .code }
    public var failedDependency: FailingPart? { nil }
}

/// Why a part failed.
public struct FailureDescription: Sendable, Equatable {
    public let code: String?
    let codeKey: LogKey
    public let words: String

    public init(code: String? = nil, codeKey: LogKey = .code, words: String) {
        self.code = code
        self.codeKey = codeKey
        self.words = words
    }

    /// Of an error that does not describe itself only the type is logged: its text may hold anything.
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
