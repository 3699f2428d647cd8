import TestSupport
import Testing

@Suite("Waiting for a change")
struct ChangeSignalTests {
    @Test("what holds already is not waited for")
    func holds() async throws {
        try await ChangeSignal().until("nothing") { true }
    }

    @Test("a change that comes while it looks is looked at too")
    func whileLooking() async throws {
        let value = Shared(0)
        let looks = Shared(0)
        try await value.until("two changes") { seen in
            looks.update { $0 += 1 }
            // Before it waits, and the only ones.
            if seen < 2 { value.update { $0 += 1 } }
            return seen == 2
        }
        #expect(looks.value == 3)
    }

    @Test("it looks again after a change of its own bed, and at no other time")
    func woken() async throws {
        let value = Shared(0)
        let other = Shared(0)
        let looks = Shared(0)
        let waiting = Task {
            try await value.until("a change") { seen in
                looks.update { $0 += 1 }
                return seen == 1
            }
        }
        try await looks.until("the first look") { $0 == 1 }
        for _ in 0..<100 { other.update { $0 += 1 } }
        value.update { $0 += 1 }
        try await waiting.value
        #expect(looks.value == 2)
    }

    @Test("every change of many writers is seen in the end")
    func manyWriters() async throws {
        let number = Shared(0)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for wanted in 1...200 {
                group.addTask { try await number.until("\(wanted) writes") { $0 >= wanted } }
                group.addTask { number.update { $0 += 1 } }
            }
            try await group.waitForAll()
        }
        #expect(number.value == 200)
    }

    @Test("what never comes fails with its description and place, and one that is cancelled fails as that")
    func neverComes() async throws {
        let value = Shared(7)
        let error = await #expect(throws: DeadlinePassed.self) {
            try await value.until("eight, not \(value.value)", within: .milliseconds(1), file: "F", line: 3) { $0 == 8 }
        }
        #expect(error?.description == "never came true: eight, not 7 (F:3)")
        let waiting = Task { try await value.until("eight") { $0 == 8 } }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
    }
}
