import AppStore
import Fulfillment
import TestSupport
import Testing

@Suite("Damaged answers of verifyReceipt")
struct AnswerMutationTests {
    /// The test cuts, doubles and overwrites parts of Apple's answers. The parser must not invent a purchase.
    @Test(
        "If a verifyReceipt answer is damaged, the parser does not trap, and finds only ids in the text, each once",
        arguments: 1...8)
    func mutations(seed: UInt64) {
        let originals = [PublishedAnswers.live2017, PublishedAnswers.baloot2023].map { Array($0.utf8) }
        let punctuation = Array("{}[]\",: \n".utf8)
        var dice = SeededRandom(seed: seed)
        for _ in 0..<500 {
            var bytes = originals.randomElement(using: &dice) ?? []
            for _ in 0..<Int.random(in: 1...4, using: &dice) where !bytes.isEmpty {
                let index = Int.random(in: 0..<bytes.count, using: &dice)
                let end = min(bytes.count, index + Int.random(in: 1...64, using: &dice))
                switch Int.random(in: 0..<4, using: &dice) {
                case 0: bytes[index] = punctuation.randomElement(using: &dice) ?? 0
                case 1: bytes.removeSubrange(index..<end)
                case 2: bytes.insert(contentsOf: bytes[index..<end], at: index)
                default: bytes.removeSubrange(index...)
                }
            }
            guard let receipt = VerifyReceiptAnswer.parse(bytes, asked: .production).genuine else { continue }
            // An id that lost a digit is another id, and the parser cannot notice the loss. So the parser may find
            // every id that is whole in the damaged text, once.
            let text = String(decoding: bytes, as: UTF8.self)
            for purchase in receipt.purchases {
                #expect(text.contains("\"\(purchase.transactionID)\""), "seed \(seed)")
                #expect(purchase.quantity >= 1, "seed \(seed)")
            }
            #expect(Set(receipt.purchases.map(\.transactionID)).count == receipt.purchases.count)
        }
    }

    @Test("If a verifyReceipt answer is cut off, the parser never returns a genuine receipt")
    func truncation() {
        let bytes = Array(PublishedAnswers.baloot2023.utf8)
        for length in bytes.indices {
            #expect(VerifyReceiptAnswer.parse(Array(bytes[..<length]), asked: .production) == .trouble(of: .notJSON))
        }
    }

    @Test(
        "If one byte of a verifyReceipt answer is overwritten, the parser does not trap, and finds at most one purchase"
    )
    func singleBytes() {
        let original = Array(PublishedAnswers.live2017.utf8)
        var dice = SeededRandom(seed: 99)
        for _ in 0..<4000 {
            var bytes = original
            bytes[Int.random(in: 0..<bytes.count, using: &dice)] = UInt8.random(in: 0...255, using: &dice)
            guard let receipt = VerifyReceiptAnswer.parse(bytes, asked: .production).genuine else { continue }
            #expect(receipt.purchases.count <= 1)
        }
    }
}
