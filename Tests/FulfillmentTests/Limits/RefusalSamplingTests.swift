import Fulfillment
import NamesAndTimes
import Testing

@Suite("The sample of locally rejected receipts that Apple checks")
struct RefusalSamplingTests {
    @Test("a worker may have Apple check several rejected receipts at once, but at most the set number in any 60 s")
    func window() {
        var sampling = RefusalSampling(perMinute: 6)
        func taken(_ seconds: Range<Int>, players: Int) -> [Int] {
            seconds.flatMap { second in
                (0..<players).filter { sampling.take(PlayerID("\(second) \($0)"), now: Double(second)) }
                    .map { _ in second }
            }
        }
        #expect(taken(0..<1, players: 2) == [0, 0])
        #expect(taken(20..<60, players: 100) == [20, 20, 20, 20])
        #expect(!sampling.isDue(now: 59.9) && sampling.isDue(now: 60))
        #expect(taken(60..<200, players: 100) == [60, 60, 80, 80, 80, 80, 120, 120, 140, 140, 140, 140, 180, 180])
    }

    @Test("a worker has Apple check at most one rejected receipt a minute from the same player")
    func ofOnePlayer() {
        var sampling = RefusalSampling(perMinute: 60)
        let asked: [(PlayerID, Double)] = [("forger", 0), ("forger", 59.9), ("player", 59.9), ("forger", 61)]
        let taken = asked.map { sampling.take($0.0, now: $0.1) }
        #expect(taken == [true, false, true, true])
    }

    @Test("if LOCAL_REFUSAL_CHECKS_PER_MINUTE is 0, a worker has Apple check no rejected receipt")
    func none() {
        var sampling = RefusalSampling(perMinute: 0)
        let isTaken = sampling.take("player", now: 1000)
        #expect(!sampling.isDue(now: 1000) && !isTaken)
    }
}
