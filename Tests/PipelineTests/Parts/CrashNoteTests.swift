import Testing

@testable import Pipeline

@Suite("Crash note")
struct CrashNoteTests {
    /// What the next owner finds, and makes of it.
    private func next(_ note: CrashNote) -> CrashNote {
        var next = CrashNote(metadata: note.metadata)
        next.begin()
        return next
    }

    @Test("three starts without progress, and the fourth takes records alone")
    func starts() {
        var note = CrashNote()
        note.begin()
        #expect(note.starts == 1 && !note.isNarrow && note.left == 0)
        note = next(note)
        #expect(note.starts == 2 && !note.isNarrow && note.left == 0)
        note = next(note)
        #expect(note.starts == 3 && note.isNarrow && note.left == 0)
        note = next(note)
        #expect(note.left == CrashNote.records && !note.isNarrow)
    }

    @Test("an owner that leaves in order does not count, however often")
    func order() {
        var note = CrashNote()
        for _ in 0..<10 {
            note = next(note)
            #expect(note.starts == 1)
            note.leave()
            #expect(note.metadata.isEmpty)
        }
    }

    @Test("only a record that was alone at so many deaths is poison, whoever came and went in between")
    func poison() {
        var note = CrashNote()
        for _ in 0..<4 { note = next(note) }
        note.name(57)
        note = next(note)
        #expect(!note.isPoison(57) && note.deaths == 1)
        // Died in company, before it was named again.
        note = next(note)
        #expect(note.deaths == 1)
        note.leave()
        note = next(note)
        note.name(57)
        note = next(note)
        #expect(!note.isPoison(57) && note.deaths == 2)
        while note.deaths < CrashNote.deathsOfPoison {
            #expect(!note.isPoison(57))
            note.name(57)
            note = next(note)
        }
        #expect(note.isPoison(57) && !note.isPoison(56) && !note.isPoison(58))
    }

    @Test("a death beside a record that was forgiven, or passed, is not its own")
    func innocent() {
        var note = CrashNote()
        for _ in 0..<4 { note = next(note) }
        for _ in 0..<5 {
            note.name(57)
            note.forgive()
            note = next(note)
        }
        #expect(note.deaths == 0)
        note.name(57)
        note = next(note)
        #expect(note.deaths == 1)
        note.name(57)
        note.pass()
        note.name(58)
        note = next(note)
        #expect(note.suspect == 58 && note.deaths == 1)
    }

    @Test("a suspect that the database has behind it has killed nobody, whatever Kafka was told")
    func acquitted() {
        var note = CrashNote()
        for _ in 0...CrashNote.startsInCompany { note.begin() }
        for _ in 0..<CrashNote.deathsOfPoison {
            note.name(13)
            note.begin()
        }
        #expect(note.isPoison(13))
        var before = note
        before.acquit(before: 13)
        #expect(before == note)
        note.acquit(before: 14)
        #expect(!note.isPoison(13))
        #expect(note.suspect == nil && note.left == CrashNote.records - 1)
    }

    @Test("after as many records as may have been in flight, all is well again")
    func passed() {
        var note = CrashNote()
        for _ in 0..<4 { note = next(note) }
        for offset in 0..<CrashNote.records {
            #expect(note.left > 0)
            note.name(Int64(offset))
            note.pass()
        }
        #expect(note == CrashNote())
    }

    @Test(
        "metadata that is not ours tells nothing",
        arguments: [
            "", "offset by hand", "{}", #"{"v":2,"starts":9}"#, #"{"starts":9}"#, #"{"v":1,"starts":-4}"#,
            #"{"v":1,"starts":"9","left":[],"deaths":3}"#, "\u{0}",
        ])
    func foreign(metadata: String) {
        #expect(CrashNote(metadata: metadata) == CrashNote())
    }

    @Test("what is written is read again")
    func roundTrip() {
        var note = CrashNote()
        for _ in 0..<4 {
            #expect(CrashNote(metadata: note.metadata) == note)
            note.begin()
        }
        note.name(1 << 40)
        #expect(CrashNote(metadata: note.metadata) == note)
        #expect(note.metadata.utf8.allSatisfy { $0 < 0x80 } && note.metadata.utf8.count < 128)
    }
}
