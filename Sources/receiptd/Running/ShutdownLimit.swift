import Dispatch
import Logging
import Operations
import Postgres
import Synchronization

/// Ends a shutdown that waits for a PostgreSQL that does not answer: once the grace is over nobody waits for it any more.
/// Whatever was under way comes again, as after a kill.
final class ShutdownLimit: Sendable {
    /// Beyond the grace, in which the consumer leaves its group.
    private static let marginSeconds = 1.0

    private let seconds: Double
    private let pools: [PostgresPool]
    private let logger: Logger
    private let hasEnded = Atomic(false)

    init(seconds: Double, pools: [PostgresPool], logger: Logger) {
        self.seconds = seconds
        self.pools = pools
        self.logger = logger
    }

    func start() {
        // Not a task: the cooperative pool may be what is stuck.
        DispatchQueue.global().asyncAfter(deadline: .now() + seconds + Self.marginSeconds) { [self] in
            guard !hasEnded.load(ordering: .sequentiallyConsistent) else { return }
            logger.warning("PostgreSQL does not answer: what is under way there is given up")
            for pool in pools { pool.interrupt() }
        }
    }

    func end() { hasEnded.store(true, ordering: .sequentiallyConsistent) }
}
