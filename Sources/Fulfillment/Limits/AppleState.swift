/// Says whether Apple is down. While Apple is down, a submission's failures and waiting time do not count against the
/// submission.
public protocol AppleState: Sendable {
    /// True if receiptd holds back the requests to Production about proofs, for every app in use, after failures or
    /// because of `Retry-After`.
    var isDown: Bool { get }
    /// The seconds for which `isDown` was true since the process began. The difference between two readings is the time
    /// that Apple was down between them.
    var downSeconds: Double { get }
    /// True if Apple is not down and has answered a request lately. If a request fails nevertheless, the cause is the
    /// request.
    var answersOthers: Bool { get }
}
