/// The mistake or finding behind a reason. Events repeat its code as `detail_code`, and its sentence as `detail`.
///
/// A code is lower-case words with underscores, and never changes its meaning; docs/contract/reasons.md lists every
/// code. A sentence says what the sender's data looks like, what was expected and what to change. It holds nothing of a
/// submission, and so no secret.
public struct Cause: Sendable, Hashable {
    public let code: String
    public let sentence: String

    public init(code: String, sentence: String) {
        self.code = code
        self.sentence = sentence
    }
}

extension Reason {
    /// The cause that counts for the reason if no closer one is known.
    public var cause: Cause { Cause(code: rawValue, sentence: detail) }
}

/// A reason with its cause.
public struct Refusal: Sendable, Hashable {
    public let reason: Reason
    public let cause: Cause

    /// - Parameter cause: the cause; nil takes the reason's own.
    public init(_ reason: Reason, _ cause: Cause? = nil) {
        self.reason = reason
        self.cause = cause ?? reason.cause
    }
}
