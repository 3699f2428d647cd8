import Encodings

/// Decodes a record's bytes into a submission or a dead letter.
public struct SubmissionDecoder: Sendable {
    public enum Decoded: Sendable, Equatable {
        case submission(Submission)
        /// Boxed, because this is rare and each submission in memory reserves room for the larger case.
        indirect case deadLetter(DeadLetter)

        public var submission: Submission? {
            if case .submission(let submission) = self { submission } else { nil }
        }
    }

    private let signature: RecordSignature

    /// - Parameter signingKeys: the secrets. The signature of a record must be made with one of them. If there are
    ///   none, the decoder checks no signatures.
    public init(signingKeys: [String] = []) {
        signature = RecordSignature(keys: signingKeys, of: .submissions)
    }

    /// - Parameters:
    ///   - key: the record's key.
    ///   - value: the record's value; nil is a tombstone, which is not a submission.
    ///   - signatureHeaders: the values of the record's `receiptd-signature` headers.
    public func decode(key: [UInt8]? = nil, _ value: [UInt8]?, signatureHeaders: [[UInt8]]) -> Decoded {
        switch read(key, value, signatureHeaders) {
        case .submission(let submission): .submission(submission)
        case .deadLetter(let letter): .deadLetter(letter.naming(formOf: value, in: .submission))
        }
    }

    private func read(_ key: [UInt8]?, _ value: [UInt8]?, _ signatureHeaders: [[UInt8]]) -> Decoded {
        if let refusal = signature.refusal(ofKey: key, value: value ?? [], headers: signatureHeaders) {
            return .deadLetter(refusal)
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
        func deadLetter(_ reason: DeadLetter.Reason, _ code: String, _ detail: String) -> Decoded {
            .deadLetter(DeadLetter(reason: reason, detail: detail, code: code, sender: fields.sender))
        }
        if isTooLarge {
            return deadLetter(
                .tooLarge, "record_too_large", "the record holds more than \(SubmissionLimits.maximumBytes) bytes")
        }
        if document.exceededDepth {
            return deadLetter(.malformedMessage, "nested_too_deep", "nested deeper than \(JSONParser.maximumDepth)")
        }
        do {
            return .submission(try fields.submission())
        } catch {
            return deadLetter(.malformedMessage, error.code, error.message + Self.hint(for: error, in: value))
        }
    }

    /// If a member is missing, returns a text with the known names that the sender perhaps meant. Otherwise returns an
    /// empty text.
    private static func hint(for fault: SubmissionFields.Fault, in value: [UInt8]) -> String {
        guard fault.code == "field_missing" || fault.code == "proof_missing" else { return "" }
        return MisspeltMember.all(in: value).map { "; \"\($0.name)\": did you mean \($0.known)?" }.joined()
    }
}
