import Fulfillment
import Postgres

/// Functions that the ledger calls after commits, failures and suspicious rows. The ledger may call them on any thread,
/// and they must not block.
public struct LedgerObserver: Sendable {
    /// A part of the ledger that runs repeatedly, and retries after a failure.
    public enum Part: Sendable {
        case decisions, recall, acknowledgements, parking
    }

    public var succeeded: @Sendable (Part) -> Void
    /// Called after a failure, before the part retries.
    public var failed: @Sendable (Part, PostgresError) -> Void
    /// Called after each COMMIT of a batch, with the number of its submissions and the seconds up to COMMIT, including
    /// the wait for a connection.
    public var batchCommitted: @Sendable (_ submissions: Int, _ seconds: Double) -> Void
    public var recalled: @Sendable (_ queries: Int, _ seconds: Double) -> Void
    public var trouble: @Sendable (LedgerTrouble) -> Void
    /// Called after the ledger parked a submission because the database refused its data.
    public var parked: @Sendable (PostgresError) -> Void
    /// Called once when a player's count of replays reaches `Replays.suspicious`, in the worker that counts the last
    /// replay.
    public var replaying: @Sendable (ReplayingPlayer) -> Void
    /// Called once for each account token that many players sent, because such a token must be a constant of the
    /// client. Only the worker that notices the token calls this function.
    public var constantToken: @Sendable (BundleID) -> Void
    /// Called once for each purchase that is held because of its token, after COMMIT.
    public var disputedToken: @Sendable (DisputedToken) -> Void
    public var connected: @Sendable () -> Void
    public var disconnected: @Sendable (PostgresError) -> Void

    public init(
        succeeded: @escaping @Sendable (Part) -> Void = { _ in },
        failed: @escaping @Sendable (Part, PostgresError) -> Void = { _, _ in },
        batchCommitted: @escaping @Sendable (_ submissions: Int, _ seconds: Double) -> Void = { _, _ in },
        recalled: @escaping @Sendable (_ queries: Int, _ seconds: Double) -> Void = { _, _ in },
        trouble: @escaping @Sendable (LedgerTrouble) -> Void = { _ in },
        parked: @escaping @Sendable (PostgresError) -> Void = { _ in },
        replaying: @escaping @Sendable (ReplayingPlayer) -> Void = { _ in },
        constantToken: @escaping @Sendable (BundleID) -> Void = { _ in },
        disputedToken: @escaping @Sendable (DisputedToken) -> Void = { _ in },
        connected: @escaping @Sendable () -> Void = {},
        disconnected: @escaping @Sendable (PostgresError) -> Void = { _ in }
    ) {
        self.succeeded = succeeded
        self.failed = failed
        self.batchCommitted = batchCommitted
        self.recalled = recalled
        self.trouble = trouble
        self.parked = parked
        self.replaying = replaying
        self.constantToken = constantToken
        self.disputedToken = disputedToken
        self.connected = connected
        self.disconnected = disconnected
    }
}

/// The reason why the ledger runs an SQL transaction again.
public enum LedgerTrouble: Sendable {
    case failed(PostgresError)
    /// PostgreSQL has a grant or a hold that the batch's queries had not found, such as a grant of another system
    /// without a claim. Or it has the owner of a subscription for which the batch had inserted no claim, or a claim was
    /// deleted meanwhile. The next try reads everything.
    case unknownGrant
    /// The batch tried to insert an existing row. PostgreSQL logs that as an error.
    case conflict
    /// Another replica has decided records of the batch, or this process missed the answer to its own COMMIT. The
    /// earlier decisions stand.
    case decidedBefore(records: Int)
}
