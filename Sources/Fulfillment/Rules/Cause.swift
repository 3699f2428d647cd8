/// The mistake or finding that leads to a reason. An event has the cause's code as `detail_code`, and the cause's
/// sentence as `detail`.
///
/// A code is lower-case words with underscores. Its meaning never changes. docs/contract/reasons.md lists every code. A
/// sentence names the mistake, and says what the sender should change. A sentence quotes nothing from a submission, so
/// that it shows no secret.
public struct Cause: Sendable, Hashable {
    public let code: String
    public let sentence: String

    public init(code: String, sentence: String) {
        self.code = code
        self.sentence = sentence
    }
}

extension Reason {
    /// The reason's own cause, for a case about which receiptd knows nothing more specific.
    public var cause: Cause { Cause(code: rawValue, sentence: detail) }
}

/// The reason of a rejection, with its cause.
public struct Refusal: Sendable, Hashable {
    public let reason: Reason
    public let cause: Cause

    /// - Parameter cause: the cause; nil for the reason's own `cause`.
    public init(_ reason: Reason, _ cause: Cause? = nil) {
        self.reason = reason
        self.cause = cause ?? reason.cause
    }
}
