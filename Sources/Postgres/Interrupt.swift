import Foundation
import Synchronization

/// Ends the waits of a pool's sessions, present and later ones. It is a pipe that stays readable once it is set. Every
/// `poll` looks at the pipe beside the connection's socket.
final class Interrupt: Sendable {
    /// The pipe's reading end; -1 if there was no descriptor. Then only deadlines end a wait.
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
        // Nobody ever reads the byte, so that it wakes all waits for good.
        _ = withUnsafePointer(to: UInt8(1)) { write(writing, $0, 1) }
    }
}
