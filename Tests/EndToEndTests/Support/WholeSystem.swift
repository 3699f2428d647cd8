import Testing

/// A trait that limits how many whole-system tests run at the same time, in all suites together. The tests' workers
/// mostly wait for sessions, leases and delays. One test at a time would leave the machine idle. If all tests ran
/// simultaneously, no test would get enough of the machine.
struct WholeSystem: SuiteTrait, TestTrait, TestScoping {
    private static let places = Places(free: 10)

    var isRecursive: Bool { true }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        await Self.places.take(first: test.traits.contains { $0 is TakesLong })
        do {
            try await function()
            await Self.places.pass()
        } catch {
            await Self.places.pass()
            throw error
        }
    }

    /// The places for running tests. A test that takes long gets a free place first. If such a test began last, it
    /// would run alone at the end. The other tests get places in the order in which they asked.
    private actor Places {
        private var free: Int
        private var long: [CheckedContinuation<Void, Never>] = []
        private var waiting: [CheckedContinuation<Void, Never>] = []

        init(free: Int) {
            self.free = free
        }

        func take(first: Bool) async {
            guard free == 0 else {
                free -= 1
                return
            }
            await withCheckedContinuation { if first { long.append($0) } else { waiting.append($0) } }
        }

        func pass() {
            if !long.isEmpty {
                long.removeFirst().resume()
            } else if !waiting.isEmpty {
                waiting.removeFirst().resume()
            } else {
                free += 1
            }
        }
    }
}

/// The trait of a test that takes half a minute or more. Such a test begins before all other waiting tests.
struct TakesLong: TestTrait {}

extension Trait where Self == WholeSystem {
    static var wholeSystem: Self { WholeSystem() }
}

extension Trait where Self == TakesLong {
    static var takesLong: Self { TakesLong() }
}
