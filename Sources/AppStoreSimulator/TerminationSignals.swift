import Dispatch

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Catches SIGTERM and SIGINT from its creation on.
struct TerminationSignals: Sendable {
    private let stream: AsyncStream<Int32>

    init() {
        stream = AsyncStream { continuation in
            let sources = [SIGTERM, SIGINT].map { number in
                // Without this, the signal's default action would end the process before the source gets the signal.
                signal(number, SIG_IGN)
                let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
                source.setEventHandler { continuation.yield(number) }
                source.resume()
                return UncheckedSource(source: source)
            }
            continuation.onTermination = { _ in for source in sources { source.source.cancel() } }
        }
    }

    func first() async {
        for await _ in stream { return }
    }

    /// A dispatch source may be used from any thread, although its type is not declared Sendable.
    private struct UncheckedSource: @unchecked Sendable {
        var source: any DispatchSourceSignal
    }
}
