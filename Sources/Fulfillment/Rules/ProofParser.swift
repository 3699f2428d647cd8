import Encodings
import NamesAndTimes

/// Reads proofs without a request to Apple. A parser does no I/O and reads no clock. Equal bytes give equal readings.
/// Any thread may call it.
public protocol ProofParser: Sendable {
    /// - Parameter bytes: the decoded receipt.
    func parse(receipt bytes: [UInt8]) -> ProofReading
    /// - Parameter matters: a function that returns whether the signature of a receipt with this content matters. If
    ///   the result is false, the parser may skip the check and call the signature not provable.
    func parse(receipt bytes: [UInt8], provingWhere matters: (ProofContent) -> Bool) -> ProofReading
    func parse(signedTransaction text: String) -> ProofReading
}

public enum ProofReading: Sendable, Equatable {
    /// The text is not a proof of the kind that the submission's field names. The reason is `malformed_receipt`.
    case unreadable(Cause)
    /// The content is nil if receiptd can read none. The cause says why the signature is forged.
    case read(ProofContent?, ParsedProof.Signature, cause: Cause? = nil)

    /// The result for an unreadable proof if the parser knows no more specific cause.
    public static let malformed = Self.unreadable(.notAReceipt())
}

/// The decoded bytes of a proof, not parsed yet.
public struct DecodedProof: Sendable {
    public let digest: Digest256
    public let material: ParsedProof.Material
    /// The bytes of a receipt; empty for a signed transaction or a transaction id.
    private let bytes: [UInt8]

    /// Returns nil for a receipt that is not base64.
    public init?(_ proof: Submission.Proof) {
        switch proof {
        case .receipt(let text):
            guard let decoded = Base64.decode(text.utf8) else { return nil }
            bytes = decoded
            digest = Digest256(hashing: decoded)
            material = .receipt(Base64.standard(text, decoded: decoded))
        case .signedTransaction(let text):
            bytes = []
            digest = Digest256(hashing: Array(text.utf8))
            material = .signedTransaction(text)
        case .transactionID(let id):
            bytes = []
            digest = Digest256(hashing: Array(id.text.utf8))
            material = .transactionID(id)
        }
    }

    /// Returns the receipt as a proof that is not provable, so that Apple judges it. Returns nil unless the receipt has
    /// the form of PKCS #7 or of a property list.
    func doubted(_ content: ProofContent? = nil) -> ParsedProof? {
        guard case .receipt = material, hasReceiptForm else { return nil }
        return ParsedProof(digest: digest, material: material, signature: .notProvable, content: content)
    }

    /// True if the bytes begin like an ASN.1 sequence, or like one of the forms of a property list.
    private var hasReceiptForm: Bool { Self.hasReceiptForm(bytes) }

    static func hasReceiptForm(_ bytes: [UInt8]) -> Bool {
        let starts: [[UInt8]] = [[0x30], Array("{".utf8), Array("<".utf8), Array("bplist".utf8)]
        let body = bytes.drop { $0 == 0x20 || $0 == 0x09 || $0 == 0x0A || $0 == 0x0D }
        return starts.contains { body.starts(with: $0) }
    }

    /// Parses the proof. Throws `Malformed` with the cause.
    /// - Parameters:
    ///   - matters: a function that returns whether the signature of a receipt with this content matters.
    ///   - repair: the repair of the text before it was decoded; nil if the text needed no repair.
    public func parsed(
        by parser: any ProofParser, provingWhere matters: (ProofContent) -> Bool = { _ in true }, repair: Cause? = nil
    ) throws(Malformed) -> ParsedProof {
        let reading: ProofReading
        switch material {
        case .receipt: reading = parser.parse(receipt: bytes, provingWhere: matters)
        case .signedTransaction(let text): reading = parser.parse(signedTransaction: text)
        case .transactionID: reading = .read(nil, .notProvable)
        }
        switch reading {
        case .unreadable(let cause): throw Malformed(cause: cause)
        case .read(let content, let signature, let cause):
            return ParsedProof(
                digest: digest, material: material, signature: signature, content: content, forgery: cause,
                repair: repair)
        }
    }

    /// The error of a text that is not a proof.
    public struct Malformed: Error {
        public let cause: Cause
    }
}

extension Base64 {
    /// Returns `decoded` as padded base64 in the standard alphabet, without white space. So Apple gets no character of
    /// the client's choice. Returns `text` itself if it has this form already, which is cheaper.
    static func standard(_ text: String, decoded: [UInt8]) -> String {
        func isStandard(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
            // The loop has no early exit, so that the CPU compares many bytes in one step.
            var other: UInt8 = 0
            for byte in bytes {
                other |=
                    (byte <= 0x20 ? 1 : 0) | (byte == UInt8(ascii: "-") ? 1 : 0) | (byte == UInt8(ascii: "_") ? 1 : 0)
            }
            guard bytes.count == (decoded.count + 2) / 3 * 4, other == 0 else { return false }
            // The last bits of an incomplete group decode to nothing, so that several texts decode to the same bytes.
            let rest = decoded.count % 3
            return rest == 0 || bytes.suffix(4).elementsEqual(encode(Array(decoded.suffix(rest))).utf8)
        }
        return text.utf8.withContiguousStorageIfAvailable(isStandard) == true ? text : encode(decoded)
    }
}
