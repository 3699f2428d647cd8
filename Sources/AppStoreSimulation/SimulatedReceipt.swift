import Encodings

/// An iOS 7+ app receipt that describes itself. Everything that the simulated App Store answers is inside the bytes, so
/// that millions of receipts need no state.
///
/// Limits of the real format kept here: dates are whole seconds, and a sandbox receipt has app id 0.
public struct SimulatedReceipt: Sendable, Hashable, Codable {
    public var bundleID: String
    /// `adam_id`; a sandbox receipt always encodes 0, as Apple's do.
    public var appAppleID: Int64
    public var environment: SimulatedEnvironment
    /// The creation time in milliseconds since 1970, cut to whole seconds when encoded.
    public var creationDateMilliseconds: Int64
    public var applicationVersion: String
    public var purchases: [SimulatedPurchase]
    /// The simulated App Store's behaviour for this receipt; nil answers as Apple would.
    public var behaviour: SimulatedBehaviour?

    public init(
        bundleID: String,
        appAppleID: Int64 = 0,
        environment: SimulatedEnvironment = .production,
        creationDateMilliseconds: Int64 = 1_700_000_000_000,
        applicationVersion: String = "1.0",
        purchases: [SimulatedPurchase],
        behaviour: SimulatedBehaviour? = nil
    ) {
        self.bundleID = bundleID
        self.appAppleID = appAppleID
        self.environment = environment
        self.creationDateMilliseconds = creationDateMilliseconds
        self.applicationVersion = applicationVersion
        self.purchases = purchases
        self.behaviour = behaviour
    }

    /// Reads `receipt-data`. Returns nil unless it is base64 of a PKCS #7 app receipt with a bundle id.
    public init?(parsing base64: String) {
        guard let bytes = Base64.decode(base64.utf8, .standard), let parsed = ParsedAppReceipt(bytes) else {
            return nil
        }
        self = parsed.receipt
        behaviour = parsed.behaviourText.flatMap { SimulatedBehaviour(json: $0) }
    }
}
