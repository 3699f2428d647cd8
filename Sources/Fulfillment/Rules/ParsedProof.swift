/// A submission's proof, read as far as it can be without asking anyone.
public struct ParsedProof: Sendable, Equatable {
    /// SHA-256 of the decoded proof: the same bytes are the same proof.
    public let digest: Digest256
    public let material: Material
    public let signature: Signature

    public enum Material: Sendable, Equatable {
        /// Standard base64, as Apple takes it.
        case receipt(String)
        case signedTransaction(String)
        case transactionID(StoreTransactionID)
    }

    /// Three different things, which lead to three different ends. Nothing is proven locally yet: every receipt counts
    /// as not provable, and Apple is asked.
    public enum Signature: Sendable {
        case proven
        case forged
        case notProvable
    }

    public init(digest: Digest256, material: Material, signature: Signature = .notProvable) {
        self.digest = digest
        self.material = material
        self.signature = signature
    }

    /// Nil where the proof is not what it says it is: `malformed_receipt`.
    public init?(_ proof: Submission.Proof) {
        switch proof {
        case .receipt(let text):
            guard let bytes = Base64.decode(text.utf8), ReceiptShape.isPlausible(bytes) else { return nil }
            self.init(digest: Digest256(hashing: bytes), material: .receipt(Base64.standard(text, decoded: bytes)))
        case .signedTransaction(let text):
            guard ReceiptShape.isCompactJWS(text) else { return nil }
            self.init(digest: Digest256(hashing: Array(text.utf8)), material: .signedTransaction(text))
        case .transactionID(let id):
            self.init(digest: Digest256(hashing: Array(id.text.utf8)), material: .transactionID(id))
        }
    }
}

/// The cheapest look at a proof: is it the beginning of what it should be?
enum ReceiptShape {
    /// An iOS 7+ receipt is a DER or BER SEQUENCE that names PKCS #7 SignedData within its first bytes; an iOS 6 one is
    /// an old-style property list.
    static func isPlausible(_ bytes: [UInt8]) -> Bool {
        if bytes.first == 0x30 {
            return bytes.prefix(32).indices.contains { bytes[$0...].starts(with: signedDataIdentifier) }
        }
        let text = bytes.drop { $0 == 0x20 || $0 == 0x0A || $0 == 0x0D || $0 == 0x09 }
        return text.first == UInt8(ascii: "{") && text.contains(UInt8(ascii: "="))
    }

    /// 1.2.840.113549.1.7.2, as DER writes it.
    private static let signedDataIdentifier: [UInt8] = [
        0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x02,
    ]

    /// Three base64url segments, the first of them a JSON object.
    static func isCompactJWS(_ text: String) -> Bool {
        let segments = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard segments.count == 3, segments.allSatisfy({ !$0.isEmpty }) else { return false }
        let decoded = segments.compactMap { Base64.decode($0) }
        guard decoded.count == 3, let header = try? JSONParser.parse(decoded[0]) else { return false }
        if case .object = header.value { return true } else { return false }
    }
}

extension Base64 {
    /// The standard alphabet, padded, no white space: `text` itself where it is that already.
    static func standard(_ text: String, decoded: [UInt8]) -> String {
        func isStandard(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
            bytes.count & 3 == 0
                && bytes.allSatisfy { $0 > 0x20 && $0 != UInt8(ascii: "-") && $0 != UInt8(ascii: "_") }
        }
        return text.utf8.withContiguousStorageIfAvailable(isStandard) == true ? text : encode(decoded)
    }
}
