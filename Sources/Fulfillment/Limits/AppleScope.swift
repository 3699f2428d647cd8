/// The unit that Apple limits separately. It has its own circuit, `Retry-After` and budget.
public struct AppleScope: Sendable, Hashable {
    public let bundleID: BundleID
    /// The endpoint's name in `receiptd_apple_requests_total{endpoint}`.
    public let endpoint: String
    public let environment: StoreEnvironment

    public init(bundleID: BundleID, endpoint: String, environment: StoreEnvironment) {
        self.bundleID = bundleID
        self.endpoint = endpoint
        self.environment = environment
    }

    /// Returns the rate for all replicas together: the setting or a share of it, and a tenth of that for the sandbox,
    /// as Apple does.
    /// - Parameter perSecond: the setting in requests a second; 0 means no limit.
    public func rate(ofSetting perSecond: Double) -> AppleRate {
        let endpoint = AppleEndpoint(rawValue: endpoint)
        let share = endpoint == .notificationHistory ? AppleRate.historyShare : 1
        let sandboxShare = environment == .production ? 1 : AppleRate.sandboxShare
        if perSecond > 0 { return AppleRate(perSecond: perSecond * share * sandboxShare) }
        guard let ownPerSecond = endpoint?.ownPerSecond else { return AppleRate(perSecond: 0) }
        return AppleRate(perSecond: ownPerSecond * sandboxShare, isForSubmissions: false)
    }

    /// True if submissions wait for its answers. If it answers nobody, Apple as a whole is down.
    public var isOfProofs: Bool { AppleEndpoint(rawValue: endpoint)?.isOfProofs ?? true }
}
