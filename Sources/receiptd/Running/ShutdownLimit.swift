import Dispatch
import Foundation
import Logging
import Operations
import Postgres
import Synchronization

/// Ends a shutdown that does not end by itself. Once the grace is over nobody waits for a PostgreSQL that does not
/// answer, and soon after it the process ends, whatever it waits for. Unfinished work comes again, as after a kill.
final class ShutdownLimit: Sendable {
    /// Beyond the grace, in which the consumer leaves its group.
    private static let marginSeconds = 1.0
    /// Beyond the grace, for what no call interrupts: librdkafka's threads sleep on where the host's clock was set back.
    private static let endMarginSeconds = 10.0

    private let seconds: Double
    private let pools: [PostgresPool]
    private let logger: Logger
    private let endProcess: @Sendable () -> Void
    private let hasEnded = Atomic(false)

    /// - Parameter seconds: from `start` to the end of the grace.
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
            logger.warning("PostgreSQL does not answer: the worker abandons its unfinished SQL transactions")
            for pool in pools { pool.interrupt() }
        }
        after(seconds + Self.endMarginSeconds) { [self] in
            logger.error(
                "shutdown timed out: the process exits now, and a worker will read its unfinished records again")
            endProcess()
        }
    }

    /// Waits on a thread: the cooperative pool may be what is stuck. On the monotonic clock: the other one may be set
    /// back.
    private func after(_ seconds: Double, _ body: @escaping @Sendable () -> Void) {
        DispatchQueue.global().asyncAfter(deadline: .now() + seconds) { [self] in
            guard !hasEnded.load(ordering: .sequentiallyConsistent) else { return }
            body()
        }
    }

    func end() { hasEnded.store(true, ordering: .sequentiallyConsistent) }
}
