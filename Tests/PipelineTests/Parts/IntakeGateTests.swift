import Kafka
import Testing

@testable import Pipeline

@Suite("The intake gate between Kafka and the window")
struct IntakeGateTests {
    private let first = TopicPartition(topic: "t", partition: 1)
    private let second = TopicPartition(topic: "t", partition: 2)

    private func record(_ offset: Int64, of partition: TopicPartition? = nil) -> ConsumerRecord {
        ConsumerRecord(topicPartition: partition ?? first, offset: offset)
    }

    private func gate(_ maximum: Int = 4, waitingFor prerequisites: Set<IntakeGate.Prerequisite> = []) -> IntakeGate {
        var gate = IntakeGate(maximumRecords: maximum)
        gate.assign(first, waitingFor: prerequisites)
        gate.assign(second, waitingFor: [])
        return gate
    }

    @Test("if the window is full, the intake gate waits a second, then pauses partitions, and resumes at half")
    func full() {
        var gate = gate()
        for offset in 0..<4 {
            #expect(gate.turn(now: 0) == .poll)
            let taken = gate.take(record(Int64(offset)), .unlimited)
            #expect(taken == .admitted)
        }
        #expect(gate.turn(now: 1) == .wait)
        #expect(gate.turn(now: 1.9) == .wait)
        #expect(gate.turn(now: 2) == .pause)
        // librdkafka did not pause the partition, so the gate asks again.
        #expect(gate.turn(now: 2.1) == .pause)
        #expect(gate.pausable == [first])
        gate.paused([first])
        #expect(gate.isPaused && gate.turn(now: 3) == .poll)
        gate.release(bytes: 0)
        #expect(gate.turn(now: 3) == .poll)
        gate.release(bytes: 0)
        #expect(gate.turn(now: 3) == .resume)
        #expect(gate.resume() == [first])
        gate.resumed([first])
        #expect(!gate.isPaused && gate.turn(now: 3) == .poll)
    }

    @Test("if the window is full for under 1 s, the intake gate polls again; the next full window waits a whole second")
    func brief() {
        var gate = gate(1)
        _ = gate.take(record(0), .unlimited)
        #expect(gate.turn(now: 0) == .wait)
        gate.release(bytes: 0)
        #expect(gate.turn(now: 0.9) == .poll)
        _ = gate.take(record(1), .unlimited)
        #expect(gate.turn(now: 1.5) == .wait)
        #expect(gate.turn(now: 2.4) == .wait)
    }

    @Test("the intake gate pauses a partition only after its first record, which waits outside the full window")
    func late() {
        var gate = gate(2)
        _ = gate.take(record(0), .unlimited)
        _ = gate.take(record(1), .unlimited)
        #expect(gate.pausable == [first])
        gate.paused([first])
        let taken = gate.take(record(7, of: second), .unlimited)
        #expect(taken == .deferred && gate.records == 2)
        #expect(gate.pausable == [second])
        gate.paused([second])
        #expect(gate.pausable.isEmpty)
        for _ in 0..<2 { gate.release(bytes: 0) }
        #expect(Set(gate.resume()) == [first, second])
        #expect(gate.records == 1)
        #expect(gate.admitPending(of: second, .unlimited).map(\.offset) == [7])
        #expect(gate.next(of: second) == 8)
    }

    @Test("if two records wait outside the window and one place is free, the intake gate resumes only one partition")
    func places() {
        var gate = gate(1)
        gate.paused([])
        _ = gate.take(record(1), .unlimited)
        _ = gate.take(record(1, of: second), .unlimited)
        gate.paused([first, second])
        let resumable = gate.resume()
        #expect(resumable.count == 1 && gate.records == 1)
        gate.resumed(resumable)
        #expect(gate.isPaused)
        gate.release(bytes: 0)
        #expect(gate.turn(now: 0) == .resume)
        #expect(gate.resume().count == 1)
    }

    @Test("the intake gate admits no record until its partition is prepared and the owner's start is committed")
    func prerequisites() {
        for order in [[IntakeGate.Prerequisite.preparation, .startCommit], [.startCommit, .preparation]] {
            var gate = gate(waitingFor: [.preparation, .startCommit])
            for offset in 0..<2 {
                let taken = gate.take(record(Int64(offset)), .unlimited)
                #expect(taken == .pending)
            }
            #expect(gate.records == 2 && gate.isIdle && gate.firstPending(of: first) == nil)
            gate.fulfil(order[0], of: first)
            #expect(gate.admitPending(of: first, .unlimited).isEmpty)
            gate.fulfil(order[1], of: first)
            #expect(gate.firstPending(of: first) == 0)
            // The record waits behind the two pending records, to keep the order.
            let taken = gate.take(record(2), .unlimited)
            #expect(taken == .pending)
            #expect(gate.admitPending(of: first, .unlimited).map(\.offset) == [0, 1, 2])
            #expect(!gate.isIdle)
        }
    }

    @Test(
        "if a partition closes, the intake gate admits none of its records, and its pending records free their places")
    func closed() {
        var gate = gate(waitingFor: [.preparation])
        _ = gate.take(record(0), .unlimited)
        gate.close(first)
        gate.fulfil(.preparation, of: first)
        #expect(gate.admitPending(of: first, .unlimited).isEmpty && !gate.isTaking(first))
        #expect(!gate.mayCome(from: first) && gate.mayCome(from: second))
        gate.forget(first)
        #expect(gate.records == 0)
        let taken = gate.take(record(1), .unlimited)
        #expect(taken == .unassigned && gate.records == 0)
    }

    @Test(
        "with a limit of two records, the intake gate keeps later ones pending, and pauses the partition until progress"
    )
    func few() {
        var gate = gate(100)
        for offset in 0..<3 {
            let taken = gate.take(record(Int64(offset)), .first(2))
            #expect(taken == (offset < 2 ? .admitted : .pending))
        }
        #expect(!gate.isBacklogged(first, .first(2)))
        _ = gate.take(record(3), .first(2))
        #expect(gate.isBacklogged(first, .first(2)) && !gate.isBacklogged(first, .unlimited))
        gate.pausedBacklogged(first)
        #expect(!gate.isBacklogged(first, .first(2)))
        #expect(gate.backlogged == [first] && gate.pausable.isEmpty)
        let early = gate.mayResumeBacklogged(first, .first(2))
        #expect(!early)
        // The partition has made progress, so the gate admits records without a limit.
        #expect(gate.admitPending(of: first, .unlimited).count == 2)
        let late = gate.mayResumeBacklogged(first, .unlimited)
        #expect(late)
        gate.resumedBacklogged(first)
        #expect(gate.pausable == [first])
    }

    @Test(
        "while all partitions are paused, the intake gate resumes a backlogged partition only together with the others")
    func together() {
        var gate = gate(1)
        _ = gate.take(record(0), .isolated(pending: 0))
        gate.pausedBacklogged(first)
        gate.paused([])
        let isResumed = gate.mayResumeBacklogged(first, .unlimited)
        #expect(!isResumed && gate.backlogged.isEmpty)
        #expect(gate.admitPending(of: first, .unlimited).count == 1)
        gate.release(bytes: 0)
        #expect(gate.resume() == [first])
    }

    @Test("during isolation the intake gate keeps all records pending, except the record that it admits alone")
    func isolated() {
        var gate = gate()
        for offset in 0..<2 {
            let taken = gate.take(record(Int64(offset)), .isolated(pending: 2))
            #expect(taken == .pending)
        }
        #expect(gate.isIdle && gate.isBacklogged(first, .isolated(pending: 2)))
        #expect(gate.firstPending(of: first) == 0)
        #expect(gate.admitIsolated(of: first)?.offset == 0)
        #expect(!gate.isIdle && gate.firstPending(of: first) == 1)
        #expect(gate.admitPending(of: first, .isolated(pending: 2)).isEmpty)
    }

    @Test("the intake gate asks librdkafka once per record to fetch the next one, and never for a paused partition")
    func starving() {
        var gate = gate()
        #expect(gate.takeStarving().isEmpty)
        _ = gate.take(record(4), .unlimited)
        #expect(gate.takeStarving().map(\.next) == [5])
        #expect(gate.takeStarving().isEmpty)
        _ = gate.take(record(5), .unlimited)
        gate.stepOver(to: 9, of: first)
        gate.pausedBacklogged(first)
        #expect(gate.takeStarving().isEmpty && gate.next(of: first) == 10)
    }
}
