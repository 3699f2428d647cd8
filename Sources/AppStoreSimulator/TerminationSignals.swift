import Dispatch

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// SIGTERM and SIGINT, from its creation on.
struct TerminationSignals: Sendable {
    private let stream: AsyncStream<Int32>

    init() {
        stream = AsyncStream { continuation in
            let sources = [SIGTERM, SIGINT].map { number in
                // The default action would end the process before the source hears of it.
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

    /// Sendable is sound: a dispatch source may be used from any thread, although its type does not say so.
    private struct UncheckedSource: @unchecked Sendable {
        var source: any DispatchSourceSignal
    }
}
