import Foundation
import Synchronization

/// The process's standard error.
enum StandardError {
    /// A pipe takes only 4 KiB at once whole; the lock keeps longer lines of two threads apart.
    private static let lock = Mutex<Void>(())
    /// Milliseconds that a full, non-blocking descriptor may take to drain before the rest of a line is dropped:
    /// a log collector that hangs must not stop receiptd.
    private static let patience: Int32 = 100

    @Sendable static func write(_ bytes: [UInt8]) { write(bytes, to: STDERR_FILENO) }

    /// Writes `bytes` with one `write(2)`, and more only where that was cut short. A line that cannot be written is
    /// dropped.
    static func write(_ bytes: [UInt8], to descriptor: Int32) {
        lock.withLock { _ in
            var rest = bytes[...]
            while !rest.isEmpty {
                let written = rest.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
                if written > 0 {
                    rest = rest.dropFirst(written)
                } else if written < 0, errno == EAGAIN || errno == EWOULDBLOCK {
                    var drained = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                    guard poll(&drained, 1, patience) > 0 else { return }
                } else if written == 0 || errno != EINTR {
                    return
                }
            }
        }
    }
}
