import Kafka
import Testing

@testable import Pipeline

@Suite("The worker's isolation of records after crashes")
struct CrashIsolationTests {
    private let first = TopicPartition(topic: "t", partition: 1)
    private let second = TopicPartition(topic: "t", partition: 2)
    private static let died = #"{"v":1,"starts":3}"#

    /// Returns the isolation at the fourth start without progress on `first`, while `second` makes progress.
    private func isolating(metadata: String = died) -> CrashIsolation {
        var isolation = CrashIsolation()
        isolation.assigned(first, metadata: metadata, departures: 0)
        isolation.assigned(second, metadata: "", departures: 0)
        #expect(isolation.update() == .began(records: CrashHistory.isolatedRecords))
        return isolation
    }

    private func candidate(_ next: Int64?, of partition: TopicPartition? = nil, isAtEnd: Bool = false)
        -> CrashIsolation.Candidate
    {
        CrashIsolation.Candidate(partition: partition ?? first, next: next, isAtEnd: isAtEnd)
    }

    @Test("at the third start without progress the worker admits only a partition's first 64 records until progress")
    func admission() {
        var isolation = CrashIsolation()
        isolation.assigned(first, metadata: "", departures: nil)
        #expect(isolation.admission(to: first, awaitsProgress: true) == .unlimited)
        isolation.assigned(first, metadata: #"{"v":1,"starts":2}"#, departures: nil)
        #expect(isolation.admission(to: first, awaitsProgress: true) == .first(CrashHistory.isolatedRecords))
        #expect(isolation.admission(to: first, awaitsProgress: false) == .unlimited)
        #expect(isolation.update() == nil && !isolation.isActive)
    }

    @Test("at one partition's fourth start without progress, the worker isolates the records of every partition")
    func everywhere() {
        var isolation = isolating()
        #expect(isolation.admission(to: first, awaitsProgress: true) == .isolated(pending: 64))
        #expect(isolation.admission(to: second, awaitsProgress: true) == .isolated(pending: 0))
        #expect(isolation.update() == nil)
        // The healthy partition waits until the other partition's isolation ends.
        #expect(isolation.next(among: [candidate(5, of: second)], now: 0) == nil)
    }

    @Test("the worker begins an isolated record once Kafka has stored its offset, and retries a failed store after 1 s")
    func naming() {
        var isolation = isolating()
        let action = isolation.next(among: [candidate(5)], now: 10)
        guard case .isolate(5, of: first, let metadata)? = action else {
            Issue.record("\(String(describing: action))")
            return
        }
        #expect(CrashHistory(metadata: metadata).suspect?.offset == 5)
        #expect(CrashHistory(metadata: metadata).suspect?.isAtWork == true)
        // Kafka has not stored the record's name yet, so no record is in flight.
        #expect(!isolation.hasSuspectAtWork)
        #expect(isolation.next(among: [candidate(5)], now: 10.9) == nil)
        #expect(isolation.next(among: [candidate(5)], now: 11) == action)
        isolation.isolated(5, of: first)
        #expect(isolation.hasSuspectAtWork)
        isolation.finished(first)
        #expect(!isolation.hasSuspectAtWork)
        // The next record does not wait for a second.
        #expect(isolation.next(among: [candidate(6)], now: 11.6) != nil)
        #expect(isolation.history(of: first)?.remaining == CrashHistory.isolatedRecords - 1)
    }

    @Test("if three workers died of an isolated record, the worker writes a dead letter, and isolates the next record")
    func poison() {
        let metadata = #"{"v":1,"starts":5,"left":40,"alone":7,"deaths":2}"#
        var isolation = CrashIsolation()
        isolation.assigned(first, metadata: metadata, departures: 0)
        _ = isolation.update()
        #expect(isolation.next(among: [candidate(7)], now: 0) == .deadLetter(7, of: first, deaths: 3))
        guard case .isolate(8, _, _)? = isolation.next(among: [candidate(8)], now: 0) else {
            Issue.record("the one beside it is not isolated")
            return
        }
    }

    @Test("if three workers died of a submission, the worker tries it once more; a fourth death makes it a dead letter")
    func lastReading() {
        func owner(after metadata: String) -> CrashIsolation {
            var isolation = CrashIsolation(deathsOfDeadLetter: CrashHistory.deathsOfUnreadable)
            isolation.assigned(first, metadata: metadata, departures: 0)
            _ = isolation.update()
            return isolation
        }
        var third = owner(after: #"{"v":1,"starts":5,"left":40,"alone":7,"deaths":2}"#)
        guard case .isolate(7, of: first, let metadata)? = third.next(among: [candidate(7)], now: 0) else {
            Issue.record("it is not isolated")
            return
        }
        third.isolated(7, of: first)
        #expect(third.suspectAtWork?.isPoison == true)
        var fourth = owner(after: metadata)
        #expect(fourth.next(among: [candidate(7)], now: 0) == .deadLetter(7, of: first, deaths: 4))
        // The worker isolates the next record as usual.
        _ = fourth.next(among: [candidate(8)], now: 0)
        fourth.isolated(8, of: first)
        #expect(fourth.suspectAtWork?.isPoison == false)
    }

    @Test("a death starts or stops counting against an isolated record only once Kafka stored that it works or waits")
    func waiting() {
        var isolation = isolating()
        #expect(isolation.metadata(ofSuspectAtWork: false) == nil)
        _ = isolation.next(among: [candidate(5)], now: 0)
        isolation.isolated(5, of: first)
        #expect(isolation.hasSuspectAtWork && !isolation.hasWaitingSuspect)
        for isAtWork in [false, true, false] {
            let told = isolation.metadata(ofSuspectAtWork: isAtWork)
            #expect(told?.partition == first)
            let suspect = CrashHistory(metadata: told?.metadata ?? "").suspect
            #expect(suspect?.offset == 5 && suspect?.isAtWork == isAtWork)
            // The earlier accusation counts until Kafka has the new accusation.
            #expect(isolation.hasSuspectAtWork != isAtWork)
            isolation.suspectIs(atWork: isAtWork)
            #expect(isolation.hasSuspectAtWork == isAtWork && isolation.hasWaitingSuspect != isAtWork)
            #expect(isolation.metadata(of: first, hasMoved: true) == told?.metadata)
        }
    }

    @Test(
        "if no record comes from the isolated partition, isolation ends after 10 s, or immediately at the log's end",
        arguments: [true, false])
    func idle(isAtEnd: Bool) {
        var isolation = isolating()
        _ = isolation.next(among: [candidate(nil, isAtEnd: isAtEnd)], now: 100)
        if !isAtEnd {
            #expect(isolation.update() == nil)
            _ = isolation.next(among: [candidate(nil)], now: 109)
            #expect(isolation.update() == nil)
            _ = isolation.next(among: [candidate(nil)], now: 110.1)
        }
        #expect(isolation.update() == .ended)
        #expect(isolation.admission(to: second, awaitsProgress: true) == .unlimited)
    }

    @Test("isolation ends after the last record to isolate, or when the worker loses the isolated partition")
    func ends() {
        var isolation = isolating()
        var forgetting = isolation
        forgetting.forget(first)
        #expect(forgetting.update() == .ended)
        for offset in 0..<Int64(CrashHistory.isolatedRecords) {
            #expect(isolation.update() == nil && isolation.isActive)
            _ = isolation.next(among: [candidate(offset)], now: 0)
            isolation.isolated(offset, of: first)
            isolation.finished(first)
        }
        #expect(isolation.update() == .ended)
        #expect(isolation.metadata(of: first, hasMoved: false).isEmpty)
    }

    @Test("after progress a commit's metadata has no crash history, unless records are left to isolate")
    func told() {
        var isolation = isolating()
        isolation.assigned(second, metadata: "", departures: 0)
        #expect(!isolation.metadata(of: second, hasMoved: false).isEmpty)
        #expect(isolation.metadata(of: second, hasMoved: true).isEmpty)
        #expect(!isolation.metadata(of: first, hasMoved: true).isEmpty)
        isolation.leave(second, departures: 3)
        #expect(isolation.metadata(of: second, hasMoved: false).isEmpty)
    }

    @Test("the database's late answer decides whether the end of a partition's last owner counts as a death")
    func prepared() {
        let metadata = #"{"v":1,"starts":4,"left":40,"alone":7,"deaths":1,"departures":4}"#
        var isolation = CrashIsolation()
        isolation.assigned(first, metadata: metadata, departures: nil)
        var departed = isolation
        let left = departed.prepared(first, departures: 5, decidedBefore: 7)
        #expect(left == nil && departed.history(of: first)?.suspect?.deaths == 1)
        var decided = isolation
        let done = decided.prepared(first, departures: 4, decidedBefore: 8)
        #expect(done == nil && decided.history(of: first)?.suspect == nil)
        let died = isolation.prepared(first, departures: 4, decidedBefore: 7)
        #expect(died?.offset == 7 && died?.deaths == 2)
        // A second call does not count the same death again.
        #expect(isolation.prepared(first, departures: 4, decidedBefore: 7)?.deaths == 2)
    }
}
