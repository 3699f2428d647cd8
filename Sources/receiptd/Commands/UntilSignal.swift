#if Demo
    import ArgumentParser
    import Foundation
    import UnixSignals

    /// Runs `body` until it ends or a signal arrives. A signal cancels the task, which may clean up. The exit code is
    /// then 128 plus the signal's number, as in a shell. A second signal ends the process at once.
    func untilSignal<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) async throws -> Value {
        let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm, .sighup)
        let work = Task { try await body() }
        let watch = Task { () -> Int32? in
            var first: Int32?
            for await signal in signals {
                if let first {
                    // `exit` also ends the embedded programs (see `ExitCleanup`).
                    exit(128 + first)
                }
                first = signal.rawValue
                printError("\nstopping: the demo removes everything that it started")
                work.cancel()
            }
            return first
        }
        let result = await work.result
        watch.cancel()
        if let signal = await watch.value { throw ExitCode(128 + signal) }
        return try result.get()
    }
#endif
