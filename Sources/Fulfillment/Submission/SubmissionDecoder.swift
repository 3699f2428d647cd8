import Encodings

/// Bytes of a record → a submission, or the dead letter it is.
public struct SubmissionDecoder: Sendable {
    public enum Decoded: Sendable, Equatable {
        case submission(Submission)
        case deadLetter(DeadLetter)

        public var submission: Submission? {
            if case .submission(let submission) = self { submission } else { nil }
        }
    }

    private let signature: SubmissionSignature

    public init(signature: SubmissionSignature = SubmissionSignature(keys: [])) {
        self.signature = signature
    }

    /// - Parameters:
    ///   - value: the record's value; nil is a tombstone, which is no submission.
    ///   - signatureHeaders: the values of the record's `receiptd-signature` headers.
    public func decode(_ value: [UInt8]?, signatureHeaders: [[UInt8]]) -> Decoded {
        if signature.isRequired, !signature.accepts(value ?? [], headers: signatureHeaders) {
            let detail = signatureHeaders.isEmpty ? "the signature header is missing" : "no key gives this signature"
            return .deadLetter(DeadLetter(reason: .badSignature, detail: detail))
        }
        guard let value else {
            return .deadLetter(DeadLetter(reason: .malformedMessage, detail: "the record has no value"))
        }
        let isTooLarge = value.count > SubmissionLimits.maximumBytes
        func unreadable(_ detail: String) -> Decoded {
            .deadLetter(DeadLetter(reason: isTooLarge ? .tooLarge : .malformedMessage, detail: detail))
        }
        let document: JSONParser.Document
        do {
            document = try JSONParser.parse(value, keeping: SubmissionFields.names)
        } catch {
            return unreadable("not JSON: \(error.message), at byte \(error.offset)")
        }
        guard case .object(let members) = document.value else { return unreadable("not a JSON object") }
        let fields = SubmissionFields(members)
        func deadLetter(_ reason: DeadLetter.Reason, _ detail: String) -> Decoded {
            .deadLetter(DeadLetter(reason: reason, detail: detail, sender: fields.sender))
        }
        if isTooLarge {
            return deadLetter(.tooLarge, "the record holds more than \(SubmissionLimits.maximumBytes) bytes")
        }
        if document.exceededDepth {
            return deadLetter(.malformedMessage, "nested deeper than \(JSONParser.maximumDepth)")
        }
        do {
            return .submission(try fields.submission())
        } catch {
            return deadLetter(.malformedMessage, error.message)
        }
    }
}
