/// One app, endpoint and environment, for which Apple limits requests separately. Each scope has its own circuit
/// breakers, `Retry-After` and request budget.
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

    /// Returns the rate for all replicas together. This is the setting's rate, or a tenth of it for the notification
    /// history. Without a setting it is the endpoint's own rate. The sandbox gets a tenth, because Apple's limit there
    /// is a tenth too.
    /// - Parameter perSecond: the setting's rate in requests a second; 0 means no limit.
    public func rate(ofSetting perSecond: Double) -> AppleRate {
        let endpoint = AppleEndpoint(rawValue: endpoint)
        let share = endpoint == .notificationHistory ? AppleRate.historyShare : 1
        let sandboxShare = environment == .production ? 1 : AppleRate.sandboxShare
        if perSecond > 0 { return AppleRate(perSecond: perSecond * share * sandboxShare) }
        guard let ownPerSecond = endpoint?.ownPerSecond else { return AppleRate(perSecond: 0) }
        return AppleRate(perSecond: ownPerSecond * sandboxShare, isForSubmissions: false)
    }

    /// True if receiptd asks this endpoint about submissions' proofs. Only these endpoints show whether Apple is down.
    public var isOfProofs: Bool { AppleEndpoint(rawValue: endpoint)?.isOfProofs ?? true }
}
