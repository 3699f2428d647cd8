import Crypto
import Fulfillment

extension FuzzTarget {
    /// The header `receiptd-signature`, which receiptd checks before everything else in a record.
    static let signature = FuzzTarget(
        name: "signature",
        seeds: { [Array(valid.utf8), Array(valid.uppercased().utf8), Array("v1=".utf8), Array("v2=00".utf8), []] },
        check: { bytes in
            let isAccepted = RecordSignature(keys: ["first", key], of: .submissions)
                .accepts(key: nil, value: value, headers: [bytes])
            let hex = String(decoding: bytes.dropFirst(3), as: UTF8.self)
            let isValid =
                bytes.starts(with: Array("v1=".utf8)) && bytes.count == 67
                && hex.lowercased() == String(valid.dropFirst(3))
            mustHold(isAccepted == isValid, "the one code of the value is accepted, and nothing else")
            for kind in [RecordSignature.Kind.accounts, .consumption] {
                let signature = RecordSignature(keys: [key], of: kind)
                mustHold(
                    !signature.accepts(key: nil, value: value, headers: [bytes]),
                    "a code of a submission is none of another kind")
            }
        },
        families: [.repeating("0", after: "v1="), .repeating("v1=")],
        words: ["v1=", "v2=", valid])

    private static let key = "a key that signs nothing"
    private static let value = Array("{\"submission_id\":\"s\"}".utf8)
    private static let valid =
        "v1="
        + HMAC<SHA256>.authenticationCode(for: value, using: SymmetricKey(data: Array(key.utf8)))
        .map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
}
