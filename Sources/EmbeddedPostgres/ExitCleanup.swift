import Foundation
import Synchronization

/// Ends the programs that still run, and removes their directories, when this process exits normally. If this process
/// is killed, the kernel ends the servers (see `PostgresInstallation.command`), and the temporary directories stay.
package enum ExitCleanup {
    package struct Leftover: Sendable {
        var process: Int32?
        var directory: String?
        /// The signal that ends the process.
        var signal = SIGQUIT

        package init(process: Int32? = nil, directory: String? = nil, signal: Int32 = SIGQUIT) {
            self.process = process
            self.directory = directory
            self.signal = signal
        }
    }

    private static let leftovers = Mutex<[String: Leftover]>([:])
    private static let registered: Void = { atexit { ExitCleanup.cleanUp() } }()

    /// Sets the cleanup for a server or another program; nil removes the cleanup.
    /// - Parameter name: the server's data directory, or another unique name.
    package static func set(_ leftover: Leftover?, for name: String) {
        _ = registered
        leftovers.withLock { $0[name] = leftover }
    }

    private static func cleanUp() {
        let all = leftovers.withLock { $0 }.values
        for leftover in all {
            if let process = leftover.process { kill(process, leftover.signal) }
        }
        for leftover in all {
            // This waits at most 2 s for the process to end. Once another thread has reaped the ended process, `kill`
            // finds no such process.
            var polls = 400
            while let process = leftover.process, kill(process, 0) == 0, polls > 0 {
                usleep(5_000)
                polls -= 1
            }
            if let directory = leftover.directory { try? FileManager.default.removeItem(atPath: directory) }
        }
    }
}
