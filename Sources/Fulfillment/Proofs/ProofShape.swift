import Encodings

/// Finds the kind of a proof by the text's shape. The field's name counts only for a text without a shape of its own.
public struct ProofShape {
    /// The member of the submission that held the text.
    public enum Field: Sendable { case receiptData, signedTransaction }

    public let proof: Submission.Proof
    /// Unity's envelope around the text; nil without one.
    public let envelope: UnityEnvelope?

    /// - Parameter field: the field of the text, which decides if the text has no shape of its own.
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

    /// Makes the shape of an envelope's payload. It looks for no envelope in another.
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

    /// Returns whether the text begins with a JSON object in base64, with a point behind it.
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

    /// Returns a JWS without blanks, which its alphabet lacks. Some mailers and columns wrap a JWS.
    private static func withoutBlanks(_ text: String) -> String {
        guard text.utf8.contains(where: isBlank) else { return text }
        return String(decoding: text.utf8.filter { !isBlank($0) }, as: UTF8.self)
    }

    /// Returns the text without blanks, and without one pair of quotes around it.
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
