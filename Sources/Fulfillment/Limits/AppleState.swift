/// The state of Apple as a whole. While Apple is down, no submission is the cause of its own failures, and its wait
/// does not count.
public protocol AppleState: Sendable {
    /// True if requests about proofs to Production are held back for every app in use, after failures or by
    /// `Retry-After`.
    var isDown: Bool { get }
    /// The seconds for which `isDown` was true since the process began. The difference between two readings is the part
    /// of a wait that does not count.
    var downSeconds: Double { get }
    /// True if Apple is not down and has answered a request lately. A request that fails then is itself the cause.
    var answersOthers: Bool { get }
}
