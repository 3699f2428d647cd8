import Testing

@testable import Fulfillment

@Suite("The retry budget")
struct RetryBudgetTests {
    @Test("while all retries fail, the retry budget allows ten retries a second")
    func trouble() {
        var budget = RetryBudget()
        var sent = 0
        for tick in 0..<60_000 where budget.take(now: Double(tick) / 1000) { sent += 1 }
        #expect((790...810).contains(sent))
    }

    @Test("after retries succeed again, the retry budget allows a thousand retries within two seconds")
    func recovery() {
        var budget = RetryBudget()
        while budget.take(now: 0) {}
        var now = 0.0
        var sent = 0
        while sent < 1_000 {
            now += 0.1
            var answered = 0
            while budget.take(now: now) { answered += 1 }
            for _ in 0..<answered { budget.succeeded() }
            sent += answered
        }
        #expect(now < 2)
    }

    @Test("while most retries succeed, the retry budget delays no retry")
    func free() {
        var budget = RetryBudget()
        for number in 0..<10_000 {
            let isFree = budget.take(now: 0)
            #expect(isFree)
            if number % 10 < 6 { budget.succeeded() }
        }
    }
}
