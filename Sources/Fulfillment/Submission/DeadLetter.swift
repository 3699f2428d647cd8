import NamesAndTimes

/// A record that is not valid, or that ends the process. The worker publishes the record unchanged to the dead-letter
/// topic, with the reason in headers.
public struct DeadLetter: Sendable, Equatable {
    public enum Reason: String, Sendable, CaseIterable {
        case malformedMessage = "malformed_message"
        case badSignature = "bad_signature"
        case tooLarge = "too_large"
        case crashed
        case unreadableBatch = "unreadable_batch"
    }

    public let reason: Reason
    /// One sentence for people. The sentence may name a misspelt member, but has none of the record's values.
    public let detail: String
    /// The cause in the answer that the sender gets. The cause's sentence contains `detail`.
    public let cause: Cause
    /// The sender, who gets an answer; nil if the player's id or the submission's id is unreadable, or if the signature
    /// is wrong.
    public let sender: Sender?

    /// The offset of the last record of an unreadable batch, which one letter replaces; nil if the letter replaces one
    /// record.
    public let lastOffset: Int64?

    /// - Parameter code: the cause's code; nil for `malformed_submission`.
    public init(reason: Reason, detail: String, code: String? = nil, sender: Sender? = nil, lastOffset: Int64? = nil) {
        self.reason = reason
        self.detail = detail
        cause = Cause(
            code: code ?? Fulfillment.Reason.malformedSubmission.rawValue,
            sentence: "The record is not a submission: \(detail). The dead-letter topic has it.")
        self.sender = sender
        self.lastOffset = lastOffset
    }

    public struct Sender: Sendable, Equatable {
        public let submissionID: Identifier
        public let playerID: PlayerID
        public let bundleID: BundleID?
        public let orderID: String?

        public init(submissionID: Identifier, playerID: PlayerID, bundleID: BundleID?, orderID: String?) {
            self.submissionID = submissionID
            self.playerID = playerID
            self.bundleID = bundleID
            self.orderID = orderID
        }
    }
}
