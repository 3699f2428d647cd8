import Encodings

/// Undoes damage that a proof took on its way from the device to the topic. A repair is a guess: its result counts only
/// if Apple's signature proves it.
public struct ProofRepair {
    public let cause: Cause
    public let proof: Submission.Proof
    /// Unity's envelope around the proof; nil without one.
    public let envelope: UnityEnvelope?

    /// Returns the repairs to try, in order; empty if the text shows no damage. Each repair also has those before.
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
            // The event names the first repair, which all later candidates have too.
            candidates.append(
                ProofRepair(cause: candidates.first?.cause ?? cause, proof: shape.proof, envelope: shape.envelope))
        }
        return candidates
    }

    /// Decodes percent-encoding. Returns nil if the text has no `%`, or one without two hexadecimal digits behind it.
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

    /// Removes escaped line ends and tabs. Returns nil if the text has no backslash, or an escape of another kind.
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
            // Some writers of JSON escape the slash.
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

    /// Decodes the text once. Returns nil unless it is base64 of a receipt's base64, or of a JWS.
    private static func decodedOnce(_ text: String) -> String? {
        guard let bytes = Base64.decode(text.utf8), bytes.starts(with: "MI".utf8) || bytes.starts(with: "ey".utf8)
        else {
            return nil
        }
        return String(validating: bytes, as: UTF8.self)
    }
}
