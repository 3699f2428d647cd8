import Fulfillment
import Testing

@Suite("The traceparent of a record")
struct TraceParentTests {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let parent = "00f067aa0ba902b7"

    @Test("a traceparent is accepted only in W3C's grammar")
    func grammar() {
        let table: [(String, Bool)] = [
            ("00-\(Self.trace)-\(Self.parent)-01", true), ("00-\(Self.trace)-\(Self.parent)-ff", true),
            // A traceparent of a later version may have more fields.
            ("01-\(Self.trace)-\(Self.parent)-01", true), ("cc-\(Self.trace)-\(Self.parent)-01-what=ever", true),
            ("00-\(Self.trace)-\(Self.parent)-01-more", false), ("cc-\(Self.trace)-\(Self.parent)-01.more", false),
            ("cc-\(Self.trace)-\(Self.parent)-01-\n", false), ("ff-\(Self.trace)-\(Self.parent)-01", false),
            ("00-\(Self.trace.uppercased())-\(Self.parent)-01", false), ("0-\(Self.trace)-\(Self.parent)-01", false),
            ("00-\(String(repeating: "0", count: 32))-\(Self.parent)-01", false),
            ("00-\(Self.trace)-0000000000000000-01", false), ("00-\(Self.trace)-\(Self.parent)", false),
            ("00-\(Self.trace)-\(Self.parent)-1", false), ("00-\(Self.trace)-\(Self.parent)-0g", false),
            ("00-\(Self.trace)-\(Self.parent)-01 ", false), ("00_\(Self.trace)_\(Self.parent)_01", false),
            ("00-1-2-01", false), ("", false), ("x", false),
            ("cc-\(Self.trace)-\(Self.parent)-01-" + String(repeating: "a", count: 201), false),
        ]
        for (text, isSound) in table {
            #expect(TraceParent.isSound(Array(text.utf8)) == isSound, "\(text)")
            #expect(TraceParent.traceID(of: text) == (isSound ? Self.trace : nil), "\(text)")
        }
    }
}
