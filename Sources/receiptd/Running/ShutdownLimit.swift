import Dispatch
import Foundation
import Logging
import Operations
import Postgres
import Synchronization

/// Ends a shutdown that takes too long. Soon after the grace period the worker abandons its SQL transactions. Later the
/// process ends in any case. Other workers repeat the unfinished work, as after a kill.
final class ShutdownLimit: Sendable {
    /// The seconds after the grace period in which the consumer leaves its group.
    private static let marginSeconds = 1.0
    /// The seconds after the grace period at which the process ends, even during a call that cannot be interrupted. If
    /// somebody sets the host's clock back, librdkafka's threads keep sleeping, and a call may wait for them.
    private static let endMarginSeconds = 10.0

    private let seconds: Double
    private let pools: [PostgresPool]
    private let logger: Logger
    private let endProcess: @Sendable () -> Void
    private let hasEnded = Atomic(false)

    /// - Parameter seconds: the grace period, which begins at `start`.
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
                "the shutdown exceeds SHUTDOWN_GRACE_SECONDS: the worker abandons its unfinished SQL transactions")
            for pool in pools { pool.interrupt() }
        }
        after(seconds + Self.endMarginSeconds) { [self] in
            logger.error(
                """
                shutdown timed out: the process exits now, and another worker reads this worker's unfinished records \
                again
                """)
            endProcess()
        }
    }

    /// Runs `body` on a thread of Dispatch, because Swift's cooperative pool may be stuck. The timer uses the monotonic
    /// clock, because somebody may set the wall clock back.
    private func after(_ seconds: Double, _ body: @escaping @Sendable () -> Void) {
        DispatchQueue.global().asyncAfter(deadline: .now() + seconds) { [self] in
            guard !hasEnded.load(ordering: .sequentiallyConsistent) else { return }
            body()
        }
    }

    func end() { hasEnded.store(true, ordering: .sequentiallyConsistent) }
}
