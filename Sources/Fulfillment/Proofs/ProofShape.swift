import Encodings

/// Tells by its shape which kind of proof a text is: the field's name is a hint, for what has no shape of its own.
public struct ProofShape {
    /// The member of the submission that held the text.
    public enum Field: Sendable { case receiptData, signedTransaction }

    public let proof: Submission.Proof
    /// Nil where the text is no envelope of Unity's.
    public let envelope: UnityEnvelope?

    /// - Parameter field: decides where the text has no shape of its own.
    public init(_ text: String, in field: Field) {
        // Nearly all of them: they cost one look.
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

    /// An envelope is not looked for in another.
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

    /// Whether the header is a JSON object in base64, with a point behind it.
    private static func isJWS(_ text: String) -> Bool {
        text.utf8.starts(with: "ey".utf8) && text.utf8.contains(UInt8(ascii: "."))
    }

    /// Reads the envelope from JSON text, or from base64 of it.
    private static func envelope(in text: String) -> (envelope: UnityEnvelope, payload: String)? {
        let bytes: [UInt8]?
        switch text.utf8.first {
        case UInt8(ascii: "{"): bytes = Array(text.utf8)
        // The byte is that with which `{` begins in base64.
        case UInt8(ascii: "e") where !text.utf8.contains(UInt8(ascii: ".")): bytes = Base64.decode(text.utf8)
        default: bytes = nil
        }
        guard let bytes, let document = try? JSONParser.parse(bytes), !document.exceededDepth else { return nil }
        return UnityEnvelope.read(document.value)
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

    /// A JWS without blanks, which its alphabet lacks: some mailers and columns wrap it.
    private static func withoutBlanks(_ text: String) -> String {
        guard text.utf8.contains(where: isBlank) else { return text }
        return String(decoding: text.utf8.filter { !isBlank($0) }, as: UTF8.self)
    }

    /// The text without blanks and one pair of quotes around it.
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
