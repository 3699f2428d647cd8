/// Whether Apple as a whole is down. Then no waiting submission is the cause, and its waiting does not count.
public protocol AppleState: Sendable {
    /// True if every app and endpoint in use is held back, after failures or by `Retry-After`.
    var isDown: Bool { get }
    /// The seconds for which `isDown` was true since the start. The difference of two readings is the part of a wait
    /// that does not count.
    var downSeconds: Double { get }
    /// True if Apple is not down and has answered a request lately. A request that fails meanwhile fails by itself.
    var answersOthers: Bool { get }
}
