import Kafka
import Testing

@testable import Pipeline

@Suite("The count of a batch's deliveries to Kafka")
struct DeliveryCountTests {
    @Test("once all of a batch's deliveries have ended, `failures` returns the errors of the deliveries that failed")
    func failures() async {
        let count = DeliveryCount(expected: 3)
        count.ended(2, .sample(29))
        count.ended(0)
        count.ended(1, .sample(10))
        let failures = await count.failures()
        #expect(failures.mapValues(\.code) == [1: 10, 2: 29])
    }

    @Test("if eight tasks report deliveries at once, the task that waits for the delivery count misses no failure")
    func concurrent() async {
        for _ in 0..<500 {
            let count = DeliveryCount(expected: 8)
            async let failures = count.failures()
            await withTaskGroup(of: Void.self) { group in
                for index in 0..<8 { group.addTask { count.ended(index, index % 2 == 1 ? .sample(1) : nil) } }
            }
            #expect(await failures.keys.sorted() == [1, 3, 5, 7])
        }
    }

    @Test("the publisher pauses twice as long before each further try, up to 5 s")
    func backoff() {
        var backoff = PublishBackoff()
        let pauses = (0..<8).map { _ in backoff.next() }
        #expect(pauses.first == PipelineLimits.publishRetrySeconds)
        #expect(pauses.last == PipelineLimits.publishRetryMaximumSeconds)
        #expect(zip(pauses, pauses.dropFirst()).allSatisfy { $1 == min($0 * 2, 5) })
    }
}
