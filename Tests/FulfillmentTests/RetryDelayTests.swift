import TestSupport
import Testing

@testable import Fulfillment

@Suite("Retry delays")
struct RetryDelayTests {
    private let delay = RetryDelay(initialSeconds: 0.5, maximumSeconds: 300, doubtSeconds: 600)

    @Test(
        "the upper bound of the retry delay doubles with each failure, up to the maximum",
        arguments: [(1, 0.5), (2, 1), (3, 2), (4, 4), (10, 256), (11, 300), (12, 300), (64, 300), (1_000_000, 300)]
            as [(Int, Double)])
    func ceiling(failures: Int, ceiling: Double) {
        #expect(delay.afterTrouble(failures: failures, jitter: 0) == 0)
        #expect(delay.afterTrouble(failures: failures, jitter: 0.5) == ceiling / 2)
        #expect(delay.afterTrouble(failures: failures, jitter: 1.0.nextDown) < ceiling)
    }

    @Test(
        "the retry delay stays between zero and the maximum for any number of failures and any jitter",
        arguments: [Int.min, -1, 0, 1, 7, 63, 65, Int.max])
    func bounds(failures: Int) {
        var random = SeededRandom(seed: 3)
        for _ in 0..<200 {
            let seconds = delay.afterTrouble(failures: failures, jitter: Double.random(in: 0..<1, using: &random))
            #expect(seconds >= 0)
            #expect(seconds < 300)
        }
    }

    @Test("if the maximum retry delay is below the initial delay, the maximum caps the first delay")
    func maximumWins() {
        #expect(RetryDelay(initialSeconds: 5, maximumSeconds: 2).afterTrouble(failures: 1, jitter: 0.5) == 1)
    }

    @Test("an initial retry delay of 0 s stays 0 s after many failures")
    func zero() {
        #expect(RetryDelay(initialSeconds: 0, maximumSeconds: 0).afterTrouble(failures: 50, jitter: 0.9) == 0)
    }

    @Test("the waits between three doubtful answers add up to 600 s; the default delays are 0.5 s, 300 s and 600 s")
    func doubt() {
        #expect(delay.inDoubt * Double(Judge.triesInDoubt - 1) == 600)
        #expect(RetryDelay() == RetryDelay(initialSeconds: 0.5, maximumSeconds: 300, doubtSeconds: 600))
    }
}
