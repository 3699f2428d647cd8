import Postgres
import Testing

@testable import Ledger

@Suite("The turns in which the ledger retries the halves of a failed batch")
struct IsolationTurnTests {
    private static let error = PostgresError(sqlState: "P0001", message: "no")

    @Test("if new decisions keep arriving, the two halves of a failed batch get two of twenty turns to be written")
    func steadyStream() throws {
        var isolation = Isolation([1, 2, 3, 4])
        let now = ContinuousClock.now
        for failure in 1...Isolation<Int>.failuresBeforeHalving {
            let later = now + .seconds(failure * 60)
            let next = isolation.next(now: later)
            let group = try #require(next)
            _ = isolation.failed(group, by: FailureCause(Self.error), commits: 0, now: later)
        }
        #expect(isolation.isIsolating)
        // A new entry arrives before each turn.
        var turns: [[Int]] = []
        for turn in 1...20 {
            isolation.add([100 + turn])
            let next = isolation.next(now: now + .seconds(3_600))
            let group = try #require(next)
            turns.append(group.entries)
        }
        #expect(turns.contains([1, 2]) && turns.contains([3, 4]))
        // The failed groups take at most 2 of 20 turns.
        #expect(turns.first == [101])
        #expect(turns.filter { $0[0] > 100 }.count == 18)
    }
}
