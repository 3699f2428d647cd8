import Encodings

/// Undoes damage that a proof took between the device and the topic. A repair is a guess. The repaired proof counts
/// only if Apple's signature proves it, or if it is another app's.
public struct ProofRepair {
    public let cause: Cause
    public let proof: Submission.Proof
    /// Unity's envelope around the proof; nil if there is none.
    public let envelope: UnityEnvelope?

    /// Returns the repairs to try, in order; empty if the text shows no damage. Each candidate also includes the
    /// earlier candidates' repairs.
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
            // The event names the first repair, which all later candidates include.
            candidates.append(
                ProofRepair(cause: candidates.first?.cause ?? cause, proof: shape.proof, envelope: shape.envelope))
        }
        return candidates
    }

    /// Decodes percent-encoding. Returns nil if the text has no `%`, or has a `%` without two hexadecimal digits after
    /// it.
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

    /// Removes escaped line ends and tabs, and unescapes slashes. Returns nil if the text has no backslash, or if it
    /// has another escape.
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
            // Some JSON encoders escape the slash.
            case UInt8(ascii: "/"): bytes.append(UInt8(ascii: "/"))
            default: return nil
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }

    /// Replaces each space by `+`. Returns nil if the text has no space.
    private static func withPlus(_ text: String) -> String? {
        guard text.utf8.contains(UInt8(ascii: " ")) else { return nil }
        let bytes = text.utf8.map { $0 == UInt8(ascii: " ") ? UInt8(ascii: "+") : $0 }
        return String(validating: bytes, as: UTF8.self)
    }

    /// Decodes base64 once. Returns nil unless the result is a receipt in base64, or a JWS.
    private static func decodedOnce(_ text: String) -> String? {
        guard let bytes = Base64.decode(text.utf8), bytes.starts(with: "MI".utf8) || bytes.starts(with: "ey".utf8)
        else {
            return nil
        }
        return String(validating: bytes, as: UTF8.self)
    }
}
