/// Whether Apple as a whole is out: then nothing that waits is at fault, and its waiting does not count.
public protocol AppleState: Sendable {
    /// Every app and endpoint in use is held back, after failures or by `Retry-After`.
    var isDown: Bool { get }
    /// Seconds for which `isDown` was true, since the start. The difference of two readings is what a wait may deduct.
    var downSeconds: Double { get }
    /// Whether Apple has answered anybody lately: what fails all the same fails by itself.
    var answersOthers: Bool { get }
}

extension AppleState {
    public var answersOthers: Bool { !isDown }
}
