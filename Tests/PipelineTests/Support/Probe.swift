import Foundation

/// Waits until the task is cancelled.
func untilCancelled() async throws {
    let nothing = AsyncStream.makeStream(of: Never.self)
    for await _ in nothing.stream {}
    throw CancellationError()
}

/// Runs blocking code on its own thread, because the cooperative pool has only as many threads as cores.
func blocking<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { waiting in
        Thread.detachNewThread { waiting.resume(with: Result(catching: body)) }
    }
}

/// Returns a seed for one run. Failures print the seed. `PIPELINE_SEED` repeats a run.
func freshSeed() -> UInt64 {
    ProcessInfo.processInfo.environment["PIPELINE_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: .min ... .max)
}
