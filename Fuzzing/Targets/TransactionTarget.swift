import AppleProofs
import Crypto
import Foundation
import Fulfillment

extension FuzzTarget {
    /// A StoreKit 2 JWS. An input with two line breaks is the header, payload and signature before their encoding, so
    /// that mutations reach the claims and the certificates.
    static let transaction = FuzzTarget(
        name: "transaction",
        seeds: {
            let header = FixedChain.header
            return [
                Array(FixedChain.token.utf8), Array("e30.e30.AA".utf8), Array("..".utf8),
                Array("\(header)\n\(FixedChain.claims)\n".utf8) + FixedChain.signature,
                Array("{\"alg\":\"none\"}\n\(FixedChain.claims)\n".utf8),
                Array("{\"alg\":\"HS256\",\"crit\":[],\"x5c\":[\"\",\"\",\"\"]}\n{\"signedDate\":1e3}\n".utf8),
            ]
        },
        check: { bytes in
            let text = token(bytes)
            let reading = FixedChain.reader.readSignedTransaction(text)
            mustHold(FixedChain.reader.readSignedTransaction(text) == reading, "the same JWS gets the same reading")
            mustHold(reading != .notATransaction, "nothing else was ever signed")
            guard case .read(let transaction) = reading else { return }
            mustHold(transaction.purchase.quantity >= 1, "no quantity is below one")
            if transaction.signature == .proven {
                mustHold(reading == FixedChain.genuine, "nothing is proven but what was signed")
            }
        },
        families: [
            .repeating("."), .repeating("A"), .repeating("W1tb", before: ".e30.AA"),
            .repeating("W1tb", after: "e30.", before: ".AA"),
            .repeating(" "),
            .repeating("\"\",", after: "{\"alg\":\"ES256\",\"x5c\":[", before: "\"\"]}\n{}\n", size: 500_000),
        ],
        words: [
            "\"alg\"", "\"ES256\"", "\"none\"", "\"x5c\"", "\"crit\"", "\"signedDate\"", "\"quantity\"",
            "\"environment\"", "\"Xcode\"",
            "\"price\"", "1e300", "-1",
        ])

    private static func token(_ bytes: [UInt8]) -> String {
        let parts = bytes.split(separator: 0x0A, maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3 else { return String(decoding: bytes, as: UTF8.self) }
        return parts.map { FixedChain.url(Array($0)) }.joined(separator: ".")
    }
}
