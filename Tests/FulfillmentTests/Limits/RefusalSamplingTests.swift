import Fulfillment
import NamesAndTimes
import Testing

@Suite("Sampling of refused receipts for Apple")
struct RefusalSamplingTests {
    @Test("refused receipts are sampled evenly, up to the set number a minute")
    func evenly() {
        var sampling = RefusalSampling(perMinute: 6)
        var taken: [Int] = []
        for second in 0..<60 {
            for player in 0..<100 where sampling.take(PlayerID("\(second) \(player)"), now: Double(second)) {
                taken.append(second)
            }
        }
        #expect(taken == [0, 10, 20, 30, 40, 50])
    }

    @Test("at most one receipt a minute is sampled from one player")
    func ofOnePlayer() {
        var sampling = RefusalSampling(perMinute: 60)
        let asked: [(PlayerID, Double)] = [("forger", 0), ("forger", 59.9), ("player", 59.9), ("forger", 61)]
        let taken = asked.map { sampling.take($0.0, now: $0.1) }
        #expect(taken == [true, false, true, true])
    }

    @Test("no receipt is sampled if the setting is 0")
    func none() {
        var sampling = RefusalSampling(perMinute: 0)
        let isTaken = sampling.take("player", now: 1000)
        #expect(!sampling.isDue(now: 1000) && !isTaken)
    }
}
