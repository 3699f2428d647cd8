import Testing

@testable import ReceiptdConfiguration

/// Faults that fuzzing found in the readers of settings and catalogs.
@Suite("Faults that fuzzing found in the readers of settings and catalogs")
struct FuzzFindingsTests {
    @Test("if a combining mark follows a separator in KAFKA_PROPERTIES, the settings still split at the separator")
    func combiningMarks() {
        let list = KafkaPropertyList("a=\u{301}1;\u{301}b=2;\u{6DD}==3")
        #expect(list.pairs.map(\.name) == ["a", "\u{301}b", "\u{6DD}"])
        #expect(list.pairs.map(\.value) == ["\u{301}1", "2", "=3"])
        #expect(list.faults.isEmpty)
    }
}
