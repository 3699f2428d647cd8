import Testing

@testable import Pipeline

@Suite("Crash note")
struct CrashNoteTests {
    /// What the next owner finds, and makes of it.
    private func next(_ note: CrashNote, departures: Int64? = nil) -> CrashNote {
        var next = CrashNote(metadata: note.metadata)
        next.begin(departures: departures)
        return next
    }

    @Test("three starts without progress, and the fourth takes records alone")
    func starts() {
        var note = CrashNote()
        note.begin(departures: nil)
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
            note.leave(departures: nil)
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
        note.leave(departures: nil)
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
        for _ in 0...CrashNote.startsInCompany { note.begin(departures: nil) }
        for _ in 0..<CrashNote.deathsOfPoison {
            note.name(13)
            note.begin(departures: nil)
        }
        #expect(note.isPoison(13))
        var before = note
        before.acquit(before: 13)
        #expect(before == note)
        note.acquit(before: 14)
        #expect(!note.isPoison(13))
        #expect(note.suspect == nil && note.left == CrashNote.records - 1)
    }

    @Test("a departure that Kafka refused, and the database has, is no death and no start")
    func refused() {
        var note = CrashNote()
        for _ in 0...CrashNote.startsInCompany { note = next(note, departures: 4) }
        note.name(57)
        // It leaves, the database counts it, Kafka keeps what was told before.
        let after = next(note, departures: 5)
        #expect(after.deaths == 0 && after.starts == note.starts && !after.isAlone && after.left == note.left)
        // The next one dies: the database has counted nobody since.
        var named = after
        named.name(57)
        #expect(next(named, departures: 5).deaths == 1)
        // What Kafka and the database both know is not counted twice.
        var left = next(named, departures: 5)
        left.leave(departures: 6)
        #expect(next(left, departures: 6).starts == left.starts + 1)
        #expect(next(left, departures: 6).deaths == 1)
    }

    @Test("where the database does not answer a death is counted until it does")
    func unanswered() {
        var note = CrashNote()
        for _ in 0...CrashNote.startsInCompany { note = next(note, departures: 4) }
        note.name(57)
        #expect(next(note).deaths == 1)
        #expect(next(note, departures: 5).deaths == 0)
        // A database that fell back has forgotten departures: nothing can be told from that.
        #expect(next(note, departures: 3).deaths == 1)
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
            note.begin(departures: nil)
        }
        note.name(1 << 40)
        note.leave(departures: 1 << 40)
        note.name(1 << 40)
        #expect(CrashNote(metadata: note.metadata) == note)
        #expect(note.metadata.utf8.allSatisfy { $0 < 0x80 } && note.metadata.utf8.count < 128)
    }
}
