/// Whether Apple as a whole is down: then no waiting submission is the cause, and its waiting does not count.
public protocol AppleState: Sendable {
    /// Every app and endpoint in use is held back, after failures or by `Retry-After`.
    var isDown: Bool { get }
    /// Seconds for which `isDown` was true, since the start. The difference of two readings is what a wait may deduct.
    var downSeconds: Double { get }
    /// Whether Apple has answered any request lately, and is not down: what fails meanwhile is itself the cause.
    var answersOthers: Bool { get }
}
