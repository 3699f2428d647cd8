import NamesAndTimes
import TestSupport
import Testing

@testable import Fulfillment

@Suite("Identifiers, compared by their bytes")
struct IdentifierTests {
    @Test("the composed and the decomposed form of an accent make different identifiers")
    func canonicalEquivalence() {
        let composed: Identifier = "caf\u{E9}"
        let decomposed: Identifier = "cafe\u{301}"
        #expect(composed.text == decomposed.text)
        #expect(composed != decomposed)
        #expect(Set([composed, decomposed]).count == 2)
        #expect([composed: 1, decomposed: 2][composed] == 1)
    }

    @Test("identifiers with equal bytes are equal, however they were built; length, case and blanks make a difference")
    func equality() {
        let written: Identifier = "player-漢-a-rather-long-name"
        let built = Identifier(String(decoding: Array("player-漢-a-rather-long-name".utf8), as: UTF8.self))
        let sliced = Identifier(String("x player-漢-a-rather-long-name".dropFirst(2)))
        #expect(written == built)
        #expect(written == sliced)
        #expect(Set([written, built, sliced]).count == 1)
        #expect(written != "player-漢-a-rather-long-nam")
        #expect(written != "player-漢-a-rather-long-namf")
        #expect(Identifier("a") != "A")
        #expect(Identifier("a") != "a ")
    }

    @Test("identifiers are ordered by their bytes")
    func order() {
        let inOrder: [Identifier] = ["", "\0", "1", "10", "2", "A", "a", "aa", "b", "e\u{301}", "\u{E9}", "漢", "😀"]
        #expect(inOrder.reversed().sorted() == inOrder)
        for (left, right) in zip(inOrder, inOrder.dropFirst()) {
            #expect(left < right)
            #expect(!(right < left))
        }
    }

    @Test("random identifiers are compared by their bytes", arguments: 0..<4 as Range<UInt64>)
    func randomNames(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let names = (0..<120).map { _ in
            Identifier((0..<random.below(9)).map { _ in random.pick(["a", "e", "\u{301}", "\u{E9}", "漢"]) }.joined())
        }
        for left in names {
            for right in names {
                let areSame = Array(left.text.utf8) == Array(right.text.utf8)
                #expect((left == right) == areSame, "seed \(seed)")
                let isBefore = left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
                #expect((left < right) == isBefore, "seed \(seed)")
                if areSame { #expect(left.hashValue == right.hashValue) }
            }
        }
    }
}
