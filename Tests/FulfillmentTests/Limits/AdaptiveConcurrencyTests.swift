import TestSupport
import Testing

@testable import Fulfillment

@Suite("The adaptive limit of concurrent requests to Apple")
struct AdaptiveConcurrencyTests {
    /// Fills the limit with requests and ends them, `rounds` times. Apple answers the first `bears` requests of a round
    /// and is overloaded by the other requests. Returns the limit after each round.
    private static func run(
        _ concurrency: inout AdaptiveConcurrency, rounds: Int, bears: Int = .max
    ) -> [Int] {
        (0..<rounds).map { _ in
            let count = concurrency.limit
            let requests = (1...count).map { concurrency.began(underWay: $0) }
            for (index, request) in requests.enumerated() {
                concurrency.ended(request, index < bears ? .fine : .overload)
            }
            return concurrency.limit
        }
    }

    @Test("the concurrency limit grows from 16 to 256 in four rounds of answers")
    func slowStart() {
        var concurrency = AdaptiveConcurrency(maximum: 256)
        #expect(concurrency.limit == 16)
        #expect(Self.run(&concurrency, rounds: 5) == [32, 64, 128, 256, 256])
    }

    @Test("the concurrency limit does not grow while only a few of the allowed requests are under way")
    func unused() {
        var concurrency = AdaptiveConcurrency(maximum: 256)
        for _ in 0..<1_000 {
            let request = concurrency.began(underWay: 3)
            concurrency.ended(request, .fine)
        }
        #expect(concurrency.limit == 16)
    }

    @Test("if Apple serves only 60 requests simultaneously, the concurrency limit stays near 60")
    func capacity() {
        var concurrency = AdaptiveConcurrency(maximum: 256)
        _ = Self.run(&concurrency, rounds: 20, bears: 60)
        let limits = Self.run(&concurrency, rounds: 200, bears: 60)
        #expect(limits.allSatisfy { (24...100).contains($0) })
        #expect(limits.reduce(0, +) / limits.count > 40)
    }

    @Test("one failed answer in a hundred leaves the concurrency limit above half the maximum")
    func noise() {
        var concurrency = AdaptiveConcurrency(maximum: 256)
        for number in 0..<20_000 {
            let request = concurrency.began(underWay: concurrency.limit)
            concurrency.ended(request, number % 100 == 0 ? .overload : .fine)
        }
        #expect(concurrency.limit > 128)
    }

    @Test("if all requests of a round fail, the concurrency limit halves only once")
    func once() {
        var concurrency = AdaptiveConcurrency(maximum: 256)
        _ = Self.run(&concurrency, rounds: 4)
        let requests = (1...256).map { concurrency.began(underWay: $0) }
        for request in requests { concurrency.ended(request, .overload) }
        #expect(concurrency.limit == 128)
    }

    @Test("the concurrency limit recovers from 1 to 256 within 18 rounds of answers")
    func recovery() {
        var concurrency = AdaptiveConcurrency(maximum: 256)
        _ = Self.run(&concurrency, rounds: 20, bears: 0)
        #expect(concurrency.limit == 1)
        let limits = Self.run(&concurrency, rounds: 18)
        #expect(limits.last == 256)
    }

    @Test(
        "if Apple fails 20 to 80 percent of the requests, the concurrency limit ends no lower than it began",
        arguments: [20, 40, 80])
    func partialOutage(percent: Int) {
        var random = SeededRandom(seed: 3)
        var concurrency = AdaptiveConcurrency(maximum: 256)
        for _ in 0..<20_000 {
            let request = concurrency.began(underWay: concurrency.limit)
            concurrency.ended(request, random.chance(percent) ? .overload : .fine)
        }
        #expect(concurrency.limit >= AdaptiveConcurrency.start)
    }

    @Test("in 2,000 random schedules, the concurrency limit stays between 1 and the maximum")
    func randomSchedules() throws {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededRandom(seed: seed)
        for _ in 0..<2_000 {
            let maximum = 1 + random.below(300)
            var concurrency = AdaptiveConcurrency(maximum: maximum)
            var underWay: [UInt64] = []
            let trouble = random.below(60)
            for _ in 0..<300 {
                if underWay.count < concurrency.limit, random.chance(60) {
                    underWay.append(concurrency.began(underWay: underWay.count + 1))
                } else if !underWay.isEmpty {
                    let request = underWay.remove(at: random.below(underWay.count))
                    concurrency.ended(
                        request, random.chance(trouble) ? .overload : random.chance(90) ? .fine : .unknown)
                } else if random.chance(10) {
                    random.chance(50) ? concurrency.restart() : concurrency.calm()
                }
                try #require((1...maximum).contains(concurrency.limit), "seed \(seed)")
            }
        }
    }
}
