import Foundation
import Synchronization

/// Ends all present and later waits of a pool's sessions. It is a pipe that stays readable once it is set. Every `poll`
/// waits for the pipe and for the connection's socket.
final class Interrupt: Sendable {
    /// The pipe's reading end; -1 if the process had no free descriptor. Then only a deadline ends a wait.
    let descriptor: Int32
    private let writing: Int32
    private let wasSet = Atomic(false)

    init() {
        var ends: [Int32] = [-1, -1]
        if pipe(&ends) == 0 {
            for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        }
        descriptor = ends[0]
        writing = ends[1]
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
        if writing >= 0 { close(writing) }
    }

    var isSet: Bool { wasSet.load(ordering: .sequentiallyConsistent) }

    func set() {
        wasSet.store(true, ordering: .sequentiallyConsistent)
        // Nothing ever reads the byte, so it ends every later wait too.
        _ = withUnsafePointer(to: UInt8(1)) { write(writing, $0, 1) }
    }
}
