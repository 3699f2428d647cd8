import Encodings

/// The kind of a proof, which the shape of its text shows. If the shape does not show the kind, the field's name
/// decides.
public struct ProofShape {
    /// The member of the submission that has the text.
    public enum Field: Sendable { case receiptData, signedTransaction }

    public let proof: Submission.Proof
    /// Unity's envelope around the text; nil if there is none.
    public let envelope: UnityEnvelope?

    /// - Parameter field: the field of the text, which decides the kind if the shape does not show it.
    public init(_ text: String, in field: Field) {
        // Nearly every proof is a receipt that begins with `MI`. It needs no further check.
        if field == .receiptData, text.utf8.starts(with: "MI".utf8) {
            self.init(.receipt(text))
            return
        }
        let bare = Self.withoutFrame(text)
        if let told = Self.envelope(in: bare) {
            self.init(told, in: field)
        } else {
            self.init(Self.proof(bare, in: field))
        }
    }

    /// Makes the shape of an envelope's payload. Does not read an envelope within the envelope.
    init(_ told: (envelope: UnityEnvelope, payload: String), in field: Field) {
        proof = Self.proof(Self.withoutFrame(told.payload), in: field)
        envelope = told.envelope
    }

    private init(_ proof: Submission.Proof) {
        self.proof = proof
        envelope = nil
    }

    private static func proof(_ text: String, in field: Field) -> Submission.Proof {
        if isJWS(text) { return .signedTransaction(withoutBlanks(text)) }
        switch field {
        case .receiptData: return .receipt(text)
        case .signedTransaction:
            let isReceipt = Base64.decode(text.utf8).map(DecodedProof.hasReceiptForm) ?? false
            return isReceipt ? .receipt(text) : .signedTransaction(text)
        }
    }

    /// Returns whether the text begins like a JSON object in base64, and has a `.`.
    private static func isJWS(_ text: String) -> Bool {
        text.utf8.starts(with: "ey".utf8) && text.utf8.contains(UInt8(ascii: "."))
    }

    /// Reads Unity's envelope from JSON text, or from JSON text in base64. Returns nil if there is none.
    private static func envelope(in text: String) -> (envelope: UnityEnvelope, payload: String)? {
        let bytes: [UInt8]?
        switch text.utf8.first {
        case UInt8(ascii: "{"): bytes = Array(text.utf8)
        // The base64 of a text that begins with `{` begins with `e`.
        case UInt8(ascii: "e") where !text.utf8.contains(UInt8(ascii: ".")): bytes = Base64.decode(text.utf8)
        default: bytes = nil
        }
        guard let bytes, let document = try? JSONParser.parse(bytes), !document.exceededDepth else { return nil }
        return UnityEnvelope.read(document.value)
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

    /// Returns the JWS without blanks. A JWS has no blanks, but some mail programs and databases wrap its text.
    private static func withoutBlanks(_ text: String) -> String {
        guard text.utf8.contains(where: isBlank) else { return text }
        return String(decoding: text.utf8.filter { !isBlank($0) }, as: UTF8.self)
    }

    /// Returns the text without blanks at its ends, and without a pair of quotes around it.
    private static func withoutFrame(_ text: String) -> String {
        func trimmed(_ bytes: Substring.UTF8View) -> Substring.UTF8View {
            var rest = bytes.drop(while: isBlank)
            while let last = rest.last, isBlank(last) { rest = rest.dropLast() }
            return rest
        }
        var bare = trimmed(text[...].utf8)
        if bare.count > 1, let quote = bare.first, quote == bare.last,
            quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'")
        {
            bare = trimmed(bare.dropFirst().dropLast())
        }
        return bare.count == text.utf8.count ? text : String(Substring(bare))
    }
}
