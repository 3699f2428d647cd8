import Testing

/// Bounds how many of a suite's test cases run at once, those of inner suites included.
struct AtOnce: SuiteTrait, TestTrait, TestScoping {
    private let places: Places

    var isRecursive: Bool { true }

    init(_ limit: Int) {
        places = Places(free: limit)
    }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        await places.take()
        do {
            try await function()
            await places.giveBack()
        } catch {
            await places.giveBack()
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

        func giveBack() {
            if waiting.isEmpty { free += 1 } else { waiting.removeFirst().resume() }
        }
    }
}

extension Trait where Self == AtOnce {
    static func atOnce(_ limit: Int) -> Self { AtOnce(limit) }
}
