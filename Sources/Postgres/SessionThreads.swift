import Foundation
import Synchronization

/// The threads of a pool's sessions.
///
/// Foundation's `Thread` cannot be joined, so these are POSIX threads. Kerberos, which libpq uses, registers a
/// destructor for the values of each thread that connects. If a thread runs the destructor while the process exits,
/// the destructor aborts the process. So a program must join these threads before it exits.
final class SessionThreads: Sendable {
    private final class Start: Sendable {
        let name: String
        let body: @Sendable () -> Void

        init(name: String, body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }
    }

    private let handles = Mutex<[pthread_t]>([])

    /// Lets the threads end by themselves if nobody has joined them.
    deinit {
        for handle in handles.withLock(\.self) { pthread_detach(handle) }
    }

    /// Starts a thread.
    /// - Parameter name: at most 15 bytes.
    /// - Returns: false if the system has no resources for another thread.
    func start(name: String, _ body: @escaping @Sendable () -> Void) -> Bool {
        let start = Unmanaged.passRetained(Start(name: name, body: body))
        var handle = pthread_t()
        let code = pthread_create(
            &handle, nil,
            { argument in
                guard let argument else { return nil }
                let start = Unmanaged<Start>.fromOpaque(argument).takeRetainedValue()
                Thread.current.name = start.name
                start.body()
                return nil
            }, start.toOpaque())
        guard code == 0 else {
            start.release()
            return false
        }
        handles.withLock { $0.append(handle) }
        return true
    }

    /// Blocks the calling thread, which must be none of these threads, until every thread has ended and has run its
    /// destructors.
    func join() {
        handles.withLock { handles in
            for handle in handles { pthread_join(handle, nil) }
            handles = []
        }
    }
}
