/// How many requests of one app and endpoint may go in a second.
public struct AppleRate: Sendable, Equatable {
    static let sandboxShare = 0.1
    /// Of the setting, for Apple's notification history.
    static let historyShare = 0.1

    /// 0 is no limit.
    public let perSecond: Double
    /// Else it bounds what receiptd asks by itself, and submissions are not bounded.
    public let isForSubmissions: Bool

    public init(perSecond: Double, isForSubmissions: Bool = true) {
        self.perSecond = perSecond
        self.isForSubmissions = isForSubmissions
    }
}
