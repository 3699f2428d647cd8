import Testing

@testable import Pipeline

@Suite("A partition's crash history")
struct CrashHistoryTests {
    /// Returns the history that the next owner reads from the metadata, with that owner's start added.
    private func next(_ history: CrashHistory, departures: Int64? = nil) -> CrashHistory {
        var next = CrashHistory(metadata: history.metadata)
        next.begin(departures: departures)
        return next
    }

    @Test(
        "at the third start without progress the crash history limits the records, and at the fourth it isolates them")
    func starts() {
        var history = CrashHistory()
        history.begin(departures: nil)
        #expect(history.starts == 1 && history.mode == .concurrent)
        history = next(history)
        #expect(history.starts == 2 && history.mode == .concurrent)
        history = next(history)
        #expect(history.starts == 3 && history.mode == .limited)
        history = next(history)
        #expect(history.mode == .isolated(remaining: CrashHistory.isolatedRecords))
    }

    @Test("if each of ten owners departs from a partition before the next starts, the crash history counts no death")
    func order() {
        var history = CrashHistory()
        for _ in 0..<10 {
            history = next(history)
            #expect(history.starts == 1)
            history.leave(departures: nil)
            #expect(history.metadata.isEmpty)
        }
    }

    @Test("after three deaths in isolation a record counts as poison; other deaths, and departures, do not count")
    func poison() {
        var history = CrashHistory()
        for _ in 0..<4 { history = next(history) }
        history.isolate(57)
        history = next(history)
        #expect(history.deaths(of: 57) == 1)
        // The process died of another record before it isolated record 57 again.
        history = next(history)
        #expect(history.suspect?.deaths == 1)
        history.leave(departures: nil)
        history = next(history)
        history.isolate(57)
        history = next(history)
        #expect(history.deaths(of: 57) == 2)
        while history.suspect?.deaths ?? 0 < CrashHistory.deathsOfPoison {
            #expect(history.suspect?.isPoison == false)
            history.isolate(57)
            history = next(history)
        }
        #expect(history.suspect?.isPoison == true)
        #expect([56, 57, 58].map { history.deaths(of: $0) } == [0, CrashHistory.deathsOfPoison, 0])
    }

    @Test("a worker's death counts against the isolated record at work, and not against a waiting or finished record")
    func innocent() {
        var history = CrashHistory()
        for _ in 0..<4 { history = next(history) }
        for _ in 0..<5 {
            history.isolate(57)
            history.suspectIs(atWork: false)
            history = next(history)
        }
        #expect(history.suspect?.deaths == 0)
        history.isolate(57)
        history = next(history)
        #expect(history.suspect?.deaths == 1)
        history.isolate(57)
        history.pass()
        history.isolate(58)
        history = next(history)
        #expect(history.suspect?.offset == 58 && history.suspect?.deaths == 1)
    }

    @Test("if the database's checkpoint is past a suspect record, the crash history drops this suspect")
    func acquitted() {
        var history = CrashHistory()
        for _ in 0...CrashHistory.concurrentStarts { history.begin(departures: nil) }
        for _ in 0..<CrashHistory.deathsOfPoison {
            history.isolate(13)
            history.begin(departures: nil)
        }
        #expect(history.suspect?.isPoison == true)
        var before = history
        before.acquit(before: 13)
        #expect(before == history)
        history.acquit(before: 14)
        #expect(history.suspect == nil)
        #expect(history.suspect == nil && history.remaining == CrashHistory.isolatedRecords - 1)
    }

    @Test("if a worker's departure is in the database and not in Kafka, the crash history counts no death and no start")
    func refused() {
        var history = CrashHistory()
        for _ in 0...CrashHistory.concurrentStarts { history = next(history, departures: 4) }
        history.isolate(57)
        // The owner leaves. The database counts the departure, and Kafka keeps the earlier metadata.
        let after = next(history, departures: 5)
        #expect(after.suspect?.deaths == 0 && after.suspect?.isAtWork == false)
        #expect(after.starts == history.starts && after.remaining == history.remaining)
        // The next owner dies. The database has counted no further departure.
        var named = after
        named.isolate(57)
        #expect(next(named, departures: 5).suspect?.deaths == 1)
        // Once Kafka and the database both know a departure, the history counts the departure only once.
        var left = next(named, departures: 5)
        left.leave(departures: 6)
        #expect(next(left, departures: 6).starts == left.starts + 1)
        #expect(next(left, departures: 6).suspect?.deaths == 1)
    }

    @Test("the end of a partition's owner counts as a death, unless the database shows that the owner departed")
    func unanswered() {
        var history = CrashHistory()
        for _ in 0...CrashHistory.concurrentStarts { history = next(history, departures: 4) }
        history.isolate(57)
        #expect(next(history).suspect?.deaths == 1)
        #expect(next(history, departures: 5).suspect?.deaths == 0)
        // A database that fell back has lost departures, so a lower count excuses no death.
        #expect(next(history, departures: 3).suspect?.deaths == 1)
    }

    @Test("once all records to isolate are finished, the partition's crash history is empty")
    func passed() {
        var history = CrashHistory()
        for _ in 0..<4 { history = next(history) }
        for offset in 0..<CrashHistory.isolatedRecords {
            #expect(history.remaining > 0)
            history.isolate(Int64(offset))
            history.pass()
        }
        #expect(history == CrashHistory())
    }

    @Test(
        "if a commit's metadata is foreign or broken, the parser reads an empty crash history",
        arguments: [
            "", "offset by hand", "{}", #"{"v":2,"starts":9}"#, #"{"starts":9}"#, #"{"v":1,"starts":-4}"#,
            #"{"v":1,"starts":"9","left":[],"deaths":3}"#, "\u{0}",
        ])
    func foreign(metadata: String) {
        #expect(CrashHistory(metadata: metadata) == CrashHistory())
    }

    @Test("the crash history reads and writes the commit metadata of earlier receiptd versions")
    func stored() {
        let isolated = CrashHistory(metadata: #"{"v":1,"starts":3,"left":40,"alone":57,"deaths":1,"departures":4}"#)
        #expect(isolated.starts == 3 && isolated.mode == .isolated(remaining: 40) && isolated.departures == 4)
        #expect(isolated.suspect?.offset == 57 && isolated.suspect?.deaths == 1)
        #expect(isolated.suspect?.isAtWork == true)
        let forgiven = CrashHistory(metadata: #"{"v":1,"starts":3,"left":40,"suspect":57,"deaths":1,"departures":4}"#)
        #expect(forgiven.suspect?.offset == 57 && forgiven.suspect?.isAtWork == false)
        for history in [isolated, forgiven] {
            #expect(CrashHistory(metadata: history.metadata) == history)
        }
        #expect(isolated.metadata == #"{"v":1,"starts":3,"left":40,"alone":57,"deaths":1,"departures":4}"#)
    }

    @Test("a crash history that is written to commit metadata and read back is unchanged")
    func roundTrip() {
        var history = CrashHistory()
        for _ in 0..<4 {
            #expect(CrashHistory(metadata: history.metadata) == history)
            history.begin(departures: nil)
        }
        history.isolate(1 << 40)
        history.leave(departures: 1 << 40)
        history.isolate(1 << 40)
        #expect(CrashHistory(metadata: history.metadata) == history)
        #expect(history.metadata.utf8.allSatisfy { $0 < 0x80 } && history.metadata.utf8.count < 128)
    }
}
