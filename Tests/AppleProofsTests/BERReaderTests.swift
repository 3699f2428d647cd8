import SwiftASN1
import TestSupport
import Testing

@testable import AppleProofs

@Suite("The BER reader")
struct BERReaderTests {
    /// Returns all elements, depth first, as swift-asn1 parses them; nil if swift-asn1 refuses the bytes.
    private func oracle(_ bytes: [UInt8]) -> [[UInt8]]? {
        guard let node = try? BER.parse(bytes) else { return nil }
        var elements: [[UInt8]] = []
        func visit(_ node: ASN1Node) {
            elements.append(Array(node.encodedBytes))
            if case .constructed(let children) = node.content { for child in children { visit(child) } }
        }
        visit(node)
        return elements
    }

    private func elements(_ bytes: [UInt8]) -> [[UInt8]]? {
        var elements: [[UInt8]] = []
        func visit(_ reader: BERReader) throws(BERFault) {
            var reader = reader
            while let element = try reader.next() {
                elements.append(Array(bytes[element.whole]))
                if element.isConstructed { try visit(BERReader(bytes, inside: element)) }
            }
        }
        do throws(BERFault) {
            var reader = BERReader(bytes)
            guard try reader.next() != nil, reader.isAtEnd else { return nil }
            try visit(BERReader(bytes))
            return elements
        } catch {
            return nil
        }
    }

    @Test(
        "the BER reader finds the same elements as swift-asn1 in genuine messages",
        arguments: TestReceipt.Encoding.allCases)
    func genuineMessages(encoding: TestReceipt.Encoding) throws {
        let authority = try TestAuthority.receipts()
        for bytes in [try TestReceipt(encoding: encoding).signed(by: authority), authority.leaf, TestReceipt().payload]
        {
            let expected = try #require(oracle(bytes))
            #expect(elements(bytes) == expected)
        }
    }

    @Test("if the BER reader and swift-asn1 both accept a mutated message, both find the same elements")
    func mutatedMessages() throws {
        let authority = try TestAuthority.receipts()
        var random = SeededRandom(seed: 7)
        var agreed = 0
        for encoding in TestReceipt.Encoding.allCases {
            let bytes = try TestReceipt(encoding: encoding).signed(by: authority)
            for _ in 0..<300 {
                var changed = bytes
                for _ in 0...random.below(2) {
                    changed[random.below(changed.count)] = random.pick([0, 1, 0x7F, 0x80, 0x81, 0xFF])
                }
                guard let expected = oracle(changed), let found = elements(changed) else { continue }
                #expect(found == expected)
                agreed += 1
            }
        }
        #expect(agreed > 100)
    }

    @Test("the BER reader refuses a false length, an unsupported tag and excessive nesting")
    func faults() {
        let cases: [([UInt8], BERFault)] = [
            ([0x30], .truncated), ([0x30, 0x01], .truncated), ([0x30, 0x82, 0x01], .truncated),
            ([0x30, 0x84, 0xFF, 0xFF, 0xFF, 0xFF], .truncated), ([0x30, 0x85, 0, 0, 0, 0, 0], .unsupportedLength),
            ([0x04, 0x80, 0, 0], .unsupportedLength), ([0x1F, 0x01, 0], .unsupportedTag), ([0x30, 0x80], .truncated),
            ([0x30, 0x80, 0], .truncated), ([UInt8](repeating: 0x30, count: 2), .truncated),
            ((0..<100).flatMap { _ in [0x30, 0x80] as [UInt8] }, .tooDeep),
        ]
        for (bytes, fault) in cases {
            #expect(throws: fault, "\(bytes.prefix(8))") {
                var reader = BERReader(bytes)
                _ = try reader.next()
            }
        }
    }

    @Test(
        "the BER reader reads signed integers of up to eight bytes, and no integer of nine bytes",
        arguments: [0, 1, 127, 128, 1701, -1, -129, Int64.max, .min])
    func integers(value: Int64) throws {
        let bytes = DER.integer(value)
        var reader = BERReader(bytes)
        #expect(BERReader.integer(try reader.next(BERTag.integer), in: bytes) == value)
        let long = DER.element(0x02, [UInt8](repeating: 1, count: 9))
        var longReader = BERReader(long)
        #expect(BERReader.integer(try longReader.next(BERTag.integer), in: long) == nil)
    }
}
