import Crypto
import Encodings
import Foundation
import Fulfillment
import Testing

@testable import AppleProofs

/// Tests damaged proofs. `PROOF_MUTATIONS` sets the number of mutations of each kind; the default is 2500.
@Suite("Mutated and hostile proofs")
struct MutationTests {
    static let count = ProcessInfo.processInfo.environment["PROOF_MUTATIONS"].flatMap { Int($0) } ?? 2500

    @Test("a mutated receipt is proven only if its content equals a genuine receipt's content")
    func receipts() throws {
        let authority = try TestAuthority.receipts()
        let trusted = [authority.root, authority.intermediate].compactMap { TrustedCertificate($0) }
        let reader = ProofReader(roots: AppleRoots(trusted))
        var info = TestTransactionReceipt(spacing: .wide)
        info.info["purchase-date-ms"] = "1714550400000"
        let corpus = [
            try TestReceipt().signed(by: authority), try TestReceipt(encoding: .indefinite).signed(by: authority),
            try TestReceipt(encoding: .segmented, hasSignedAttributes: true).signed(by: authority),
            try info.signed(by: authority),
        ]
        let genuine = corpus.map { bytes in
            var receipt = reader.readReceipt(bytes).receipt
            receipt?.environment = nil
            return receipt
        }
        #expect(genuine.allSatisfy { $0?.signature == .proven })
        var mutated = MutatedBytes(corpus, seed: 11)
        for _ in 0..<Self.count {
            guard var receipt = reader.readReceipt(mutated.next()).receipt, receipt.signature == .proven else {
                continue
            }
            receipt.environment = nil
            #expect(genuine.contains(receipt))
        }
    }

    @Test("a mutated transaction is proven only if its content equals the genuine transaction's content")
    func transactions() throws {
        let authority = try TestAuthority.transactions()
        let reader = authority.reader
        let corpus = [try TestTransaction().signed(by: authority), try TestTransaction().signed(by: authority)]
        let genuine = reader.readSignedTransaction(corpus[0])
        #expect(genuine.signature == .proven)
        var mutated = MutatedBytes(corpus.map { Array($0.utf8) }, seed: 12)
        for _ in 0..<Self.count {
            let reading = reader.readSignedTransaction(String(decoding: mutated.next(), as: UTF8.self))
            if reading.signature == .proven { #expect(reading == genuine) }
            #expect(reading != .notATransaction)
        }
        // These mutations are made before the segments are encoded, because the decoder would refuse most mutations of
        // the encoded text.
        let chain = [authority.leaf, authority.intermediate, authority.root].map { "\"\(Base64.encode($0))\"" }
        let header = "{\"alg\":\"ES256\",\"x5c\":[\(chain.joined(separator: ","))]}"
        var claims = MutatedBytes([Array(TestTransaction().payload.utf8)], seed: 13)
        var headers = MutatedBytes([Array(header.utf8)], seed: 14)
        for index in 0..<Self.count / 10 {
            let payload = index % 2 == 0 ? claims.next() : Array(TestTransaction().payload.utf8)
            let first = index % 2 == 0 ? Array(header.utf8) : headers.next()
            let signed = "\(TestTransaction.url(first)).\(TestTransaction.url(payload))"
            let signature = try TestKeys.transactionKey.signature(for: Data(signed.utf8)).rawRepresentation
            _ = reader.readSignedTransaction("\(signed).\(TestTransaction.url(Array(signature)))")
        }
    }

    @Test("the proof reader reads or refuses a megabyte of repeated or nested fragments without a crash")
    func pathological() throws {
        let reader = ProofReader(roots: .builtIn)
        let size = ProofReader.maximumSize
        let head = Array(try TestReceipt().signed(by: try TestAuthority.receipts()).prefix(40))
        let pieces: [[UInt8]] = [
            [0x30, 0x80], [0x24, 0x80], [0x04, 0x00], [0x30, 0x00], [0x00, 0x00], [0x31, 0x02],
            [0x30, 0x82, 0xFF, 0xFF],
            Array("{".utf8), Array("\"a\"=\"b\";".utf8), Array("\\\"".utf8), [0xA0, 0x80, 0x02, 0x01, 0x01],
        ]
        for piece in pieces {
            // The filler doubles in each step, because a debug build is slow at appending piece after piece.
            var filler = piece
            while filler.count < size { filler += filler }
            for start in [head, Array("{".utf8), Array("{ \"a\" = \"".utf8)] {
                _ = reader.readReceipt(Array((start + filler).prefix(size)))
            }
            _ = reader.readSignedTransaction(String(decoding: filler.prefix(size), as: UTF8.self))
        }
        let segmented = DER.indefinite(
            0x24, Array(repeatElement([0x04, 0x00] as [UInt8], count: size / 2 - 200).joined()))
        let data = DER.indefinite(0x30, DER.oid(1, 2, 840, 113549, 1, 7, 1) + DER.indefinite(0xA0, segmented))
        let body = DER.integer(1) + DER.set() + data + DER.set(DER.sequence())
        let message = DER.indefinite(
            0x30, DER.oid(1, 2, 840, 113549, 1, 7, 2) + DER.indefinite(0xA0, DER.indefinite(0x30, body)))
        #expect(reader.readReceipt(message) == .malformed("the receipt has no signer"))
        let nested = TestTransaction.url(Array(String(repeating: "[", count: 300_000).utf8))
        #expect(reader.readSignedTransaction("\(nested).e30.AA") == .malformed("the header is not a JSON object"))
    }
}
