/// The rate of requests about one app at one endpoint.
public struct AppleRate: Sendable, Equatable {
    static let sandboxShare = 0.1
    /// The notification history's share of the setting.
    static let historyShare = 0.1

    /// Requests a second; 0 means no limit.
    public let perSecond: Double
    /// True if the rate bounds submissions; false if it bounds only receiptd's own questions.
    public let isForSubmissions: Bool

    public init(perSecond: Double, isForSubmissions: Bool = true) {
        self.perSecond = perSecond
        self.isForSubmissions = isForSubmissions
    }
}
