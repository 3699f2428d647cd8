import Testing

/// Bounds how many of the whole-system tests run at once, over all suites that have this trait. Their workers mostly wait for
/// sessions, leases and delays: one at a time would leave the machine idle, all at once would starve each other.
struct WholeSystem: SuiteTrait, TestTrait, TestScoping {
    private static let places = Places(free: 8)

    var isRecursive: Bool { true }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        await Self.places.take()
        do {
            try await function()
            await Self.places.pass()
        } catch {
            await Self.places.pass()
            throw error
        }
    }

    /// First come, first served.
    private actor Places {
        private var free: Int
        private var waiting: [CheckedContinuation<Void, Never>] = []

        init(free: Int) {
            self.free = free
        }

        func take() async {
            guard free == 0 else {
                free -= 1
                return
            }
            await withCheckedContinuation { waiting.append($0) }
        }

        func pass() {
            if waiting.isEmpty { free += 1 } else { waiting.removeFirst().resume() }
        }
    }
}

extension Trait where Self == WholeSystem {
    static var wholeSystem: Self { WholeSystem() }
}
