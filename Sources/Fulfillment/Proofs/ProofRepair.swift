import Encodings

/// Undoes damage to a proof on its way from the device to the topic. Each repair is a guess: only a signature that
/// proves its result makes that a proof.
public struct ProofRepair {
    public let cause: Cause
    public let proof: Submission.Proof
    /// The envelope around the proof; nil without one.
    public let envelope: UnityEnvelope?

    /// The repairs to try, most likely first; empty if the text shows no damage. Each continues from the one before.
    public static func candidates(for proof: Submission.Proof) -> [ProofRepair] {
        let text: String
        switch proof {
        case .receipt(let told), .signedTransaction(let told): text = told
        case .transactionID: return []
        }
        let steps: [(Cause, (String) -> String?)] = [
            (.repairedPercentEncoding, percentDecoded), (.repairedLineEnds, withoutEscapes),
            (.repairedBlanks, withPlus), (.repairedBase64Twice, decodedOnce),
        ]
        var repaired = text
        var candidates: [ProofRepair] = []
        for (cause, step) in steps {
            guard let next = step(repaired) else { continue }
            repaired = next
            let shape = ProofShape(next, in: .receiptData)
            // The first that was needed is the one that is told.
            candidates.append(
                ProofRepair(cause: candidates.first?.cause ?? cause, proof: shape.proof, envelope: shape.envelope))
        }
        return candidates
    }

    /// Returns nil if nothing is percent-encoded, or if an escape is no byte.
    private static func percentDecoded(_ text: String) -> String? {
        guard text.utf8.contains(UInt8(ascii: "%")) else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count)
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(HexDigit.value(of:)),
                let low = rest.popFirst().flatMap(HexDigit.value(of:))
            else { return nil }
            bytes.append(high << 4 | low)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    /// Returns nil if there is no backslash.
    private static func withoutEscapes(_ text: String) -> String? {
        guard text.utf8.contains(UInt8(ascii: "\\")) else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count)
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\") else {
                bytes.append(byte)
                continue
            }
            switch rest.popFirst() {
            case UInt8(ascii: "r"), UInt8(ascii: "n"), UInt8(ascii: "t"): continue
            // Some writers of JSON escape it.
            case UInt8(ascii: "/"): bytes.append(UInt8(ascii: "/"))
            default: return nil
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }

    /// Returns nil if there is no blank.
    private static func withPlus(_ text: String) -> String? {
        guard text.utf8.contains(UInt8(ascii: " ")) else { return nil }
        let bytes = text.utf8.map { $0 == UInt8(ascii: " ") ? UInt8(ascii: "+") : $0 }
        return String(validating: bytes, as: UTF8.self)
    }

    /// Returns nil unless the text is base64 of a receipt's base64, or of a JWS.
    private static func decodedOnce(_ text: String) -> String? {
        guard let bytes = Base64.decode(text.utf8), bytes.starts(with: "MI".utf8) || bytes.starts(with: "ey".utf8)
        else {
            return nil
        }
        return String(validating: bytes, as: UTF8.self)
    }
}
