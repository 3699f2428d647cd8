import Foundation
import Fulfillment
import Kafka
import Testing

@testable import Pipeline

@Suite("The inbox of the consumer's thread")
struct InboxTests {
    @Test("the inbox returns each message once, in the order of posting")
    func order() {
        let inbox = Inbox()
        let items = (0..<5).map { Sample.inFlight(offset: $0) }
        for item in items { inbox.post(.ended(item, isDone: item.position.offset == 2)) }
        inbox.post(.stop)
        let offsets = inbox.take().compactMap { message -> Int64? in
            if case .ended(let item, _) = message { item.position.offset } else { nil }
        }
        #expect(offsets == [0, 1, 2, 3, 4])
        #expect(inbox.take().isEmpty)
    }

    @Test("the inbox wakes a waiting reader, and loses no message of four concurrent writers")
    func concurrent() async throws {
        let inbox = Inbox()
        async let taken = blocking {
            var count = 0
            while count < 4000 { count += inbox.take(waitingSeconds: 60).count }
            return count
        }
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 { group.addTask { for _ in 0..<1000 { inbox.post(.stop) } } }
        }
        #expect(try await taken == 4000)
    }
}
