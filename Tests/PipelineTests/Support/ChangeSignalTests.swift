import TestSupport
import Testing

@Suite("The tests' waits for a change")
struct ChangeSignalTests {
    @Test("a test's wait returns immediately if its condition already holds")
    func holds() async throws {
        try await ChangeSignal().until("nothing") { true }
    }

    @Test("if a change comes while a test's wait checks its condition, the wait checks the condition again")
    func whileLooking() async throws {
        let value = Shared(0)
        let looks = Shared(0)
        try await value.until("two changes") { seen in
            looks.update { $0 += 1 }
            // The only two changes come while the waiter checks its condition, before it waits.
            if seen < 2 { value.update { $0 += 1 } }
            return seen == 2
        }
        #expect(looks.value == 3)
    }

    @Test(
        "a test's wait checks its condition after a change of its own signal, and not after a change of another signal")
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

    @Test("200 concurrent waits of a test see all changes of 200 concurrent writers")
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

    @Test("a test's wait throws its description and place at its deadline, and CancellationError if it is cancelled")
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
