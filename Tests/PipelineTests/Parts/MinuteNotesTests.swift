import Testing

@testable import Pipeline

@Suite("At most one log line a minute for each kind of note")
struct MinuteNotesTests {
    @Test("the first note of a kind is logged at once; later notes are logged after a minute, as one line with a count")
    func folds() {
        var notes = MinuteNotes()
        #expect(notes.note("a", now: 0) == MinuteNotes.Line(kind: "a", count: 1))
        for second in 1..<60 { #expect(notes.note("a", now: Double(second)) == nil) }
        #expect(notes.note("b", now: 30) == MinuteNotes.Line(kind: "b", count: 1))
        #expect(notes.note("a", now: 60) == MinuteNotes.Line(kind: "a", count: 60))
        #expect(notes.note("a", now: 61) == nil)
    }

    @Test("beyond the maximum number of kinds, a note of a new kind is not logged")
    func bounded() {
        var notes = MinuteNotes()
        for kind in 0..<MinuteNotes.maximumKinds { #expect(notes.note("\(kind)", now: 0) != nil) }
        #expect(notes.note("one more", now: 0) == nil)
        #expect(notes.note("0", now: 60) != nil)
    }
}
