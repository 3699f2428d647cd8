import Testing

@testable import Operations

@Suite("Differences between the worker's clock and other clocks")
struct ClockTests {
    private static let noon: Int64 = 1_800_000_000_000

    private static func took(_ clock: RecordClock, offset: Int64, timestamp: Int64, now: Int64) {
        clock.took(topic: "t", partition: 0, offset: offset, timestamp: timestamp, now: now)
    }

    @Test("If old records of a backlog arrive, the worker measures no clock difference")
    func backlog() {
        let clock = RecordClock()
        Self.took(clock, offset: 5, timestamp: Self.noon - 86_400_000, now: Self.noon)
        #expect(clock.take() == nil)
        clock.ended(topic: "t", partition: 0, offset: 10, now: Self.noon)
        Self.took(clock, offset: 9, timestamp: Self.noon - 86_400_000, now: Self.noon)
        #expect(clock.take() == nil)
    }

    @Test("A record appended after the last check of the partition's end shows how far the worker's clock is ahead")
    func ahead() {
        let clock = RecordClock()
        clock.ended(topic: "t", partition: 0, offset: 10, now: Self.noon)
        // The worker reads the record a minute after the check. The timestamp is two hours before the check.
        Self.took(clock, offset: 10, timestamp: Self.noon - 7_200_000, now: Self.noon + 60_000)
        #expect(clock.take() == 7_200)
        #expect(clock.take() == nil)
        // One game server's slow clock does not count while another server's clock is right.
        Self.took(clock, offset: 11, timestamp: Self.noon - 7_200_000, now: Self.noon + 1_000)
        Self.took(clock, offset: 12, timestamp: Self.noon + 500, now: Self.noon + 1_000)
        #expect(clock.take() == 0)
    }

    @Test("A record with a future timestamp shows how far the worker's clock is behind the record's writer")
    func behind() {
        let clock = RecordClock()
        Self.took(clock, offset: 0, timestamp: Self.noon + 3_600_000, now: Self.noon)
        #expect(clock.take() == -3_600)
    }

    @Test(
        "The worker reports a clock difference of more than 60 s; a difference measured by a record's timestamp expires"
    )
    func complaint() {
        var differences = ClockDifferences()
        #expect(differences.complaint == nil)
        differences.note(database: 60, record: -60, now: 0)
        #expect(differences.complaint == nil)
        differences.note(database: 7_200.4, record: -61, now: 60)
        #expect(
            differences.complaint
                == "the worker's clock is 7200 s ahead of PostgreSQL's clock; "
                + "the worker's clock is 61 s behind the newest records' timestamps")
        differences.note(database: nil, record: nil, now: 120)
        #expect(differences.database == 7_200.4 && differences.record == -61)
        differences.note(database: 0, record: nil, now: 60 + ClockDifferences.recordSeconds + 1)
        #expect(differences.complaint == nil)
    }

    @Test("A proof signed in the future shows how far the worker's clock is behind, until the difference expires")
    func signed() {
        let clock = SignedClock()
        clock.took(signedAt: 1_000, now: 5_000)
        #expect(clock.take() == nil)
        clock.took(signedAt: 95_000, now: 5_000)
        clock.took(signedAt: 6_000, now: 5_000)
        let told = clock.take()
        #expect(told == -90)
        #expect(clock.take() == nil)
        var differences = ClockDifferences()
        differences.note(database: 0, record: nil, apple: told, now: 0)
        let words = "the worker's clock is 90 s behind the time at which Apple signed a proof"
        #expect(differences.complaint == words)
        differences.note(database: 0, record: nil, apple: nil, now: 60)
        #expect(differences.complaint == words)
        differences.note(database: 0, record: nil, apple: nil, now: ClockDifferences.recordSeconds + 1)
        #expect(differences.complaint == nil)
    }
}
