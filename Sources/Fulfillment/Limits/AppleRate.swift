/// The rate of requests about one app at one endpoint.
public struct AppleRate: Sendable, Equatable {
    static let sandboxShare = 0.1
    /// The share of the setting's rate that the notification history may use.
    static let historyShare = 0.1

    /// Requests a second; 0 means no limit.
    public let perSecond: Double
    /// True if the rate limits all requests; false if it limits only receiptd's own requests.
    public let isForSubmissions: Bool

    public init(perSecond: Double, isForSubmissions: Bool = true) {
        self.perSecond = perSecond
        self.isForSubmissions = isForSubmissions
    }
}
