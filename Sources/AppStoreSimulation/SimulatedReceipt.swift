import Encodings

/// An iOS 7+ app receipt, whose bytes contain all data for the simulated App Store's answer. So millions of receipts
/// need no memory in the simulation.
///
/// Two limits of the real format apply here: dates are in whole seconds, and a sandbox receipt has app id 0.
public struct SimulatedReceipt: Sendable, Hashable, Codable {
    public var bundleID: String
    /// The `adam_id`. In the bytes of a sandbox receipt it is 0, as in Apple's receipts.
    public var appAppleID: Int64
    public var environment: SimulatedEnvironment
    /// The creation time in milliseconds since 1970. The encoded receipt has it in whole seconds.
    public var creationDateMilliseconds: Int64
    public var applicationVersion: String
    public var purchases: [SimulatedPurchase]
    /// The simulated App Store's behaviour for this receipt; nil for Apple's ordinary answers.
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

    /// Reads `receipt-data`. Returns nil unless it is the base64 of a PKCS #7 app receipt with a bundle id.
    public init?(parsing base64: String) {
        guard let bytes = Base64.decode(base64.utf8, .standard), let parsed = ParsedAppReceipt(bytes) else {
            return nil
        }
        self = parsed.receipt
        behaviour = parsed.behaviourText.flatMap { SimulatedBehaviour(json: $0) }
    }
}
