import NamesAndTimes

/// The content of a receipt or a signed transaction. Without a proven signature, anyone may have written the content.
public struct ProofContent: Sendable, Equatable {
    /// The bundle id; nil if the proof names none.
    public var bundleID: BundleID?
    /// Apple's number of the app; nil or 0 if the proof names none.
    public var appAppleID: Int64?
    /// The environment; nil if it is missing, unreadable or a development machine's.
    public var environment: StoreEnvironment?
    public var purchases: [StorePurchase]
    /// False if receiptd cannot read or interpret a part of the proof, which Apple may be able to read.
    public var isComplete: Bool
    public var holdsAutoRenewable: Bool
    /// The time at which Apple signed the proof; nil if the proof names none.
    public var signedAt: Timestamp?

    public init(
        bundleID: BundleID?, appAppleID: Int64? = nil, environment: StoreEnvironment?, purchases: [StorePurchase],
        isComplete: Bool = true, holdsAutoRenewable: Bool = false, signedAt: Timestamp? = nil
    ) {
        self.bundleID = bundleID
        self.appAppleID = appAppleID
        self.environment = environment
        self.purchases = purchases
        self.isComplete = isComplete
        self.holdsAutoRenewable = holdsAutoRenewable
        self.signedAt = signedAt
    }

    /// The content in the form of Apple's answer; nil if the content is incomplete, or has no bundle id or environment.
    /// If every purchase has an unreadable fact, a missing environment counts as Production, because receiptd grants
    /// none of these purchases.
    public var asReceipt: GenuineReceipt? {
        let known = environment ?? (isNothingReadable ? .production : nil)
        guard isComplete, let bundleID, let environment = known else { return nil }
        return GenuineReceipt(
            bundleID: bundleID, appAppleID: appAppleID, environment: environment, purchases: purchases,
            holdsAutoRenewable: holdsAutoRenewable)
    }

    private var isNothingReadable: Bool {
        !purchases.isEmpty && purchases.allSatisfy { !$0.unreadable.isEmpty }
    }
}
