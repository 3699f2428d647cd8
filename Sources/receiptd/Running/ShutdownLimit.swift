import Dispatch
import Foundation
import Logging
import Operations
import Postgres
import Synchronization

/// Ends a shutdown that lasts too long. Soon after the grace the worker abandons its unfinished SQL
/// transactions, and later the process ends in any case. Workers repeat the unfinished work, as after a kill.
final class ShutdownLimit: Sendable {
    /// Seconds after the grace, in which the consumer leaves its group.
    private static let marginSeconds = 1.0
    /// Seconds after the grace, at which even calls that cannot be interrupted end. librdkafka's threads sleep on if
    /// the host's clock is set back.
    private static let endMarginSeconds = 10.0

    private let seconds: Double
    private let pools: [PostgresPool]
    private let logger: Logger
    private let endProcess: @Sendable () -> Void
    private let hasEnded = Atomic(false)

    /// - Parameter seconds: the seconds from `start` to the end of the grace.
    init(
        seconds: Double, pools: [PostgresPool], logger: Logger,
        endProcess: @escaping @Sendable () -> Void = { _exit(1) }
    ) {
        self.seconds = seconds
        self.pools = pools
        self.logger = logger
        self.endProcess = endProcess
    }

    func start() {
        after(seconds + Self.marginSeconds) { [self] in
            logger.warning(
                "the shutdown takes longer than its grace: the worker abandons its unfinished SQL transactions")
            for pool in pools { pool.interrupt() }
        }
        after(seconds + Self.endMarginSeconds) { [self] in
            logger.error(
                "shutdown timed out: the process exits now, and a worker will read its unfinished records again")
            endProcess()
        }
    }

    /// Runs `body` on a thread, because the cooperative pool may be stuck. The timer counts on the monotonic clock,
    /// because the wall clock may be set back.
    private func after(_ seconds: Double, _ body: @escaping @Sendable () -> Void) {
        DispatchQueue.global().asyncAfter(deadline: .now() + seconds) { [self] in
            guard !hasEnded.load(ordering: .sequentiallyConsistent) else { return }
            body()
        }
    }

    func end() { hasEnded.store(true, ordering: .sequentiallyConsistent) }
}
