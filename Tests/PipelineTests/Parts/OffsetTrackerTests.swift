import TestSupport
import Testing

@testable import Pipeline

@Suite("The tracker of a partition's committable offset")
struct OffsetTrackerTests {
    @Test("before a partition's first admitted record no offset is committable")
    func empty() {
        #expect(OffsetTracker().committable == nil)
        #expect(OffsetTracker().count == 0)
    }

    @Test("the committable offset is the first unfinished record's offset, although later records are finished")
    func prefix() {
        var tracker = OffsetTracker()
        for offset in Int64(10)...14 { tracker.admit(offset) }
        #expect(tracker.committable == 10)
        tracker.finish(12)
        tracker.finish(11)
        #expect(tracker.committable == 10)
        tracker.finish(10)
        #expect(tracker.committable == 13)
        tracker.finish(14)
        #expect(tracker.committable == 13)
        #expect(tracker.unfinishedCount == 1)
        tracker.finish(13)
        #expect(tracker.committable == 15)
        #expect(tracker.count == 0)
    }

    @Test("the committable offset passes gaps between admitted offsets")
    func gaps() {
        var tracker = OffsetTracker()
        for offset: Int64 in [3, 7, 100] { tracker.admit(offset) }
        tracker.finish(3)
        #expect(tracker.committable == 7)
        tracker.finish(7)
        #expect(tracker.committable == 100)
        tracker.finish(100)
        #expect(tracker.committable == 101)
    }

    @Test(
        "the offset tracker ignores a second finish of an offset, and the finish of an offset that was never admitted")
    func unknown() {
        var tracker = OffsetTracker()
        tracker.finish(5)
        tracker.admit(5)
        tracker.admit(9)
        for offset: Int64 in [4, 6, 10] { tracker.finish(offset) }
        #expect(tracker.committable == 5)
        tracker.finish(5)
        tracker.finish(5)
        #expect(tracker.committable == 9)
        #expect(tracker.unfinishedCount == 1)
    }

    @Test("in random schedules the committable offset equals the committable offset of a naive model")
    func model() {
        let seed = freshSeed()
        var random = SeededRandom(seed: seed)
        for _ in 0..<3000 {
            var tracker = OffsetTracker()
            var unfinished: Set<Int64> = []
            var admitted: [Int64] = []
            var next = Int64(random.below(1000))
            let admitting = 10 + random.below(80)
            for _ in 0..<100 {
                if random.below(100) < admitting {
                    next += 1 + Int64(random.chance(20) ? random.below(50) : 0)
                    tracker.admit(next)
                    admitted.append(next)
                    unfinished.insert(next)
                } else if let offset = random.chance(90) ? unfinished.randomElement(using: &random) : next + 1 {
                    tracker.finish(offset)
                    unfinished.remove(offset)
                }
                let expected = unfinished.min() ?? admitted.last.map { $0 + 1 }
                guard tracker.committable == expected, tracker.unfinishedCount == unfinished.count else {
                    Issue.record("\(tracker.committable ?? -1) is not \(expected ?? -1), seed \(seed)")
                    return
                }
            }
        }
    }

    @Test(
        "once the first record is finished, all finished records after it are committable, and the tracker drops them")
    func headBlocks() {
        var tracker = OffsetTracker()
        for offset in Int64(0)..<50_000 { tracker.admit(offset) }
        for offset in Int64(1)..<50_000 { tracker.finish(offset) }
        #expect(tracker.count == 50_000)
        #expect(tracker.committable == 0)
        tracker.finish(0)
        #expect(tracker.committable == 50_000)
        #expect(tracker.count == 0)
        tracker.admit(50_000)
        #expect(tracker.heldCount == 1)
    }

    @Test("the offset tracker holds at most 4096 entries over 200,000 records, of which 100 at a time are unfinished")
    func longRun() {
        var tracker = OffsetTracker()
        for offset in Int64(0)..<200_000 {
            tracker.admit(offset)
            if offset >= 100 { tracker.finish(offset - 100) }
            guard tracker.heldCount <= 4096 else {
                Issue.record("\(tracker.heldCount) are held at \(offset)")
                return
            }
        }
        #expect(tracker.committable == 199_900)
    }
}
