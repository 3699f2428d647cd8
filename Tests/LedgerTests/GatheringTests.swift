import Fulfillment
import Postgres
import Synchronization
import Testing

@testable import Ledger

@Suite("The wait of a batch for more submissions")
struct GatheringTests {
    private static func gathering(share: Double = 1) -> Gathering {
        Gathering(busyGroup: 8, busyDelay: .milliseconds(4), longestDelay: .milliseconds(10), share: share)
    }

    /// Returns the waits of batches while submissions come at an even rate. Each batch holds the submissions since the
    /// previous batch.
    private static func delays(perSecond: Double, seconds: Double) -> [Duration] {
        var gathering = gathering()
        var now = ContinuousClock.now
        let end = now + .seconds(seconds)
        var (delays, waiting): ([Duration], Double) = ([], 1)
        while now < end {
            let count = max(1, Int(waiting))
            waiting = max(0, waiting - Double(count))
            let delay = gathering.delay(behind: count, now: now)
            delays.append(delay)
            // The next batch starts after the wait and a write of 2 ms, and once at least one submission waits.
            let rest = max(delay + .milliseconds(2), .seconds((1 - waiting) / perSecond))
            now += rest
            waiting += perSecond * rest.inSeconds
        }
        return delays
    }

    @Test("at 20, 250, 1,000 and 5,000 submissions a second, a batch waits 0, 10, 3 to 5 and 10 ms for more of them")
    func rates() throws {
        #expect(Self.delays(perSecond: 20, seconds: 5).allSatisfy { $0 == .zero })
        let everyday = try #require(Self.delays(perSecond: 250, seconds: 5).last)
        #expect(everyday == .milliseconds(10))
        let busy = Self.delays(perSecond: 1_000, seconds: 5).suffix(20)
        #expect(busy.allSatisfy { $0 >= .milliseconds(3) && $0 < .milliseconds(5) }, "\(busy)")
        let flood = Self.delays(perSecond: 5_000, seconds: 5).suffix(20)
        #expect(flood.allSatisfy { $0 == .milliseconds(10) }, "\(flood)")
    }

    @Test("a caller's bound limits a batch's wait after a small batch, but not after a large batch")
    func bounded() {
        var gathering = Self.gathering()
        var now = ContinuousClock.now
        for _ in 0..<200 {
            _ = gathering.delay(behind: 2, now: now)
            now += .milliseconds(5)
        }
        #expect(gathering.delay(behind: 2, now: now, atMost: .milliseconds(5)) == .milliseconds(5))
        #expect(gathering.delay(behind: 0, now: now, atMost: .milliseconds(1)) == .zero)
        #expect(gathering.delay(behind: 0, now: now, atMost: .seconds(1)) == .milliseconds(10))
        // The bound does not limit the wait after a large batch.
        #expect(gathering.delay(behind: 30, now: now, atMost: .milliseconds(1)) == .milliseconds(6))
        #expect(gathering.delay(behind: 400, now: now, atMost: .milliseconds(1)) == .milliseconds(10))
    }

    @Test("a configured share of one half halves a batch's wait after a small batch, but not after a large batch")
    func half() {
        var (whole, half) = (Self.gathering(), Self.gathering(share: 0.5))
        var now = ContinuousClock.now
        for _ in 0..<200 {
            _ = (whole.delay(behind: 4, now: now), half.delay(behind: 4, now: now))
            now += .milliseconds(5)
        }
        let delays = (whole.delay(behind: 4, now: now), half.delay(behind: 4, now: now))
        #expect(delays.1 == delays.0 * 0.5 && delays.1 > .milliseconds(1), "\(delays)")
        #expect(half.delay(behind: 30, now: now) == .milliseconds(6))
    }

    @Test("if the longest wait is configured as zero, no batch waits for more submissions", arguments: [1, 8, 400])
    func none(count: Int) {
        var gathering = Gathering(busyGroup: 8, busyDelay: .milliseconds(4), longestDelay: .zero)
        var now = ContinuousClock.now
        for _ in 0..<20 {
            #expect(gathering.delay(behind: count, now: now) == .zero)
            now += .milliseconds(5)
        }
    }

    @Test("if no submission came for five seconds, the next batch does not wait for more submissions")
    func pause() {
        var gathering = Self.gathering()
        var now = ContinuousClock.now
        for _ in 0..<200 {
            _ = gathering.delay(behind: 2, now: now)
            now += .milliseconds(5)
        }
        #expect(gathering.delay(behind: 2, now: now) > .zero)
        #expect(gathering.delay(behind: 1, now: now + .seconds(5)) == .zero)
    }
}

@Suite("The queries that look up earlier answers, at 250 submissions a second")
struct RecallGatheringTests {
    /// Returns the number of look-ups in the database for `count` recall queries that arrive one after the other.
    private static func looks(for count: Int, longestDelay: Duration) async throws -> Int {
        let database = try await LedgerDatabase()
        var limits = PostgresLedger.Limits()
        limits.longestGatheringDelay = longestDelay
        let looks = Mutex(0)
        let pool = LedgerDatabase.pool(database.uri, size: 4)
        let ledger = PostgresLedger(
            pool: pool, limits: limits,
            observer: LedgerObserver(recalled: { _, _ in looks.withLock { $0 += 1 } }))
        await withTaskGroup(of: Void.self) { group in
            for number in 1...count {
                let query = Sample.query(
                    for: Sample.decision(
                        [Sample.judged(Sample.purchase("\(number)"))], player: "player-\(number)",
                        offset: Int64(number)))
                group.addTask {
                    let answer = try? await ledger.recall(query)
                    #expect(answer == .nothing)
                }
                try? await Task.sleep(for: .milliseconds(4))
            }
        }
        await ledger.close()
        await pool.close()
        return looks.withLock { $0 }
    }

    /// A slow machine makes larger groups, never smaller groups.
    @Test("if 200 recall queries arrive 4 ms apart, the ledger answers them with fewer than 100 look-ups in PostgreSQL")
    func gathered() async throws {
        let looks = try await Self.looks(for: 200, longestDelay: .milliseconds(400))
        #expect(looks < 100, "\(looks) looks for 200 questions")
    }
}
