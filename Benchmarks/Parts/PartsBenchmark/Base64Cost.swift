import Encodings
import Foundation

/// The cost of decoding a receipt's base64. Foundation's decoder accepts neither white space nor the URL alphabet, so a
/// real use of it would cost more than this measurement.
struct Base64Cost {
    let rounds: Int
    private static let times = 2_000

    func measure() throws -> [Comparison] {
        let text = JSONCost.receipt
        guard let bytes = Base64.decode(text.utf8), Data(base64Encoded: text) == Data(bytes) else {
            throw WrongResult()
        }
        let data = Data(bytes)
        return [
            try Comparison.alternate(
                "base64, decoding    ", library: "Foundation", rounds: rounds, times: Self.times,
                ours: { if Base64.decode(text.utf8)?.count != bytes.count { throw WrongResult() } },
                theirs: { if Data(base64Encoded: text)?.count != bytes.count { throw WrongResult() } }),
            try Comparison.alternate(
                "base64, encoding    ", library: "Foundation", rounds: rounds, times: Self.times,
                ours: { if Base64.encode(bytes).utf8.count != text.utf8.count { throw WrongResult() } },
                theirs: { if data.base64EncodedString().utf8.count != text.utf8.count { throw WrongResult() } }),
        ]
    }
}
