import Foundation
import Synchronization

enum StandardError {
    /// Keeps the lines of two threads apart. Without the lock the kernel could mix lines of more than 4 KiB in a pipe.
    private static let lock = Mutex<Void>(())
    /// The milliseconds that a write waits for a full pipe before it drops the rest of the line. A log collector that
    /// hangs must not stop receiptd.
    private static let patience: Int32 = 100

    @Sendable static func write(_ bytes: [UInt8]) { write(bytes, to: STDERR_FILENO) }

    /// Writes `bytes` with one `write(2)`, or with several if the kernel takes only a part. Drops a line that cannot be
    /// written.
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
