/// What Apple limits by itself, and so what a circuit, a `Retry-After` and a budget belong to.
public struct AppleScope: Sendable, Hashable {
    public let bundleID: BundleID
    /// As in `receiptd_apple_requests_total{endpoint}`.
    public let endpoint: String
    public let environment: StoreEnvironment

    public init(bundleID: BundleID, endpoint: String, environment: StoreEnvironment) {
        self.bundleID = bundleID
        self.endpoint = endpoint
        self.environment = environment
    }

    /// Requests a second for all replicas together: the setting, and a tenth of it for the sandbox, as Apple does.
    public func share(ofRate perSecond: Double) -> Double {
        environment == .production ? perSecond : perSecond / 10
    }
}
