import Fulfillment
import Testing

@testable import Pipeline

@Suite("Attempt history")
struct AttemptHistoryTests {
    private let retry = RetryDelay(initialSeconds: 1, maximumSeconds: 8, doubtSeconds: 600)
    private let now = Timestamp(milliseconds: 1_000_000)

    @Test("after trouble the ceiling doubles up to the maximum")
    func trouble() {
        for _ in 0..<200 {
            var attempts = AttemptHistory()
            for ceiling in [1.0, 2, 4, 8, 8, 8] {
                let seconds = attempts.delay(after: .undecided(.init(.timeout)), retry: retry, now: now)
                #expect((0..<ceiling).contains(seconds))
            }
            #expect(attempts.failures == 6)
            #expect(attempts.doubts.isEmpty)
        }
    }

    @Test("Apple is left alone until the time it asks for")
    func notBefore() {
        var attempts = AttemptHistory()
        let trouble = AppleAnswer.Trouble(.rateLimited, retryNotBefore: now.adding(milliseconds: 90_000))
        #expect(attempts.delay(after: .undecided(trouble), retry: retry, now: now) == 90)
    }

    @Test("a time that is over delays nothing further")
    func notBeforeOver() {
        var attempts = AttemptHistory()
        let trouble = AppleAnswer.Trouble(.rateLimited, retryNotBefore: now.adding(milliseconds: -90_000))
        #expect((0..<1).contains(attempts.delay(after: .undecided(trouble), retry: retry, now: now)))
    }

    @Test("doubts are counted for each answer, and asked for again at even distances")
    func doubts() {
        var attempts = AttemptHistory()
        #expect(attempts.delay(after: .doubtful(.malformedReceipt), retry: retry, now: now) == 300)
        #expect(attempts.delay(after: .doubtful(.noPurchase), retry: retry, now: now) == 300)
        #expect(attempts.delay(after: .doubtful(.noPurchase), retry: retry, now: now) == 300)
        #expect(attempts.doubts == [.malformedReceipt: 1, .noPurchase: 2])
        #expect(attempts.failures == 0)
    }

    @Test("settings that are wrong are tried again as trouble is")
    func blocked() {
        var attempts = AttemptHistory()
        #expect((0..<1).contains(attempts.delay(after: .blocked(.sharedSecret), retry: retry, now: now)))
        #expect((0..<2).contains(attempts.delay(after: .blocked(.sharedSecret), retry: retry, now: now)))
    }
}
