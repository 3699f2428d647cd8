import Foundation
import Synchronization

/// Ends the waits of a pool's sessions, those under way and all to come: a pipe that is readable from then on, in every
/// `poll` beside the connection's socket.
final class Interrupt: Sendable {
    /// -1 where there was no descriptor to be had: then only deadlines end a wait.
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
        // Nobody ever reads it: one byte wakes all, for good.
        _ = withUnsafePointer(to: UInt8(1)) { write(writing, $0, 1) }
    }
}
