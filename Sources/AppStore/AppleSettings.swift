/// Apple's addresses, and the limits of requests to Apple.
public struct AppleSettings: Sendable, Equatable {
    public static let appleProductionURL = "https://buy.itunes.apple.com/verifyReceipt"
    public static let appleSandboxURL = "https://sandbox.itunes.apple.com/verifyReceipt"
    public static let appleServerAPIProductionURL = "https://api.storekit.apple.com"
    public static let appleServerAPISandboxURL = "https://api.storekit-sandbox.apple.com"

    /// The whole URL that gets the first request about every receipt.
    public var productionURL = AppleSettings.appleProductionURL
    /// The whole URL that gets a request if Production says that a receipt belongs to the sandbox.
    public var sandboxURL = AppleSettings.appleSandboxURL
    /// The part of the App Store Server API's addresses before `/inApps/`.
    public var serverAPIProductionURL = AppleSettings.appleServerAPIProductionURL
    public var serverAPISandboxURL = AppleSettings.appleServerAPISandboxURL
    /// The time-out of one request in seconds, from the connection to the answer's last byte.
    public var timeoutSeconds: Double = 10
    /// The most requests in flight at once.
    public var maxConcurrency = 256
    /// The file of PEM roots for TLS to Apple; nil for the system's roots.
    public var caFile: String?

    public init() {}

    public init(
        productionURL: String = AppleSettings.appleProductionURL, sandboxURL: String = AppleSettings.appleSandboxURL,
        serverAPIProductionURL: String = AppleSettings.appleServerAPIProductionURL,
        serverAPISandboxURL: String = AppleSettings.appleServerAPISandboxURL, timeoutSeconds: Double = 10,
        maxConcurrency: Int = 256, caFile: String? = nil
    ) {
        self.productionURL = productionURL
        self.sandboxURL = sandboxURL
        self.serverAPIProductionURL = serverAPIProductionURL
        self.serverAPISandboxURL = serverAPISandboxURL
        self.timeoutSeconds = timeoutSeconds
        self.maxConcurrency = maxConcurrency
        self.caFile = caFile
    }
}

/// A setting that prevents making a client.
public enum AppleSettingsFault: Error, Sendable, Equatable, CustomStringConvertible {
    case notAnHTTPURL(setting: String)
    case notPositive(setting: String)
    /// receiptd cannot read the file, or the file has no PEM certificate.
    case noCertificates(path: String)

    public var description: String {
        switch self {
        case .notAnHTTPURL(let setting): "\(setting) is not an http or https URL"
        case .notPositive(let setting): "\(setting) must be greater than zero"
        case .noCertificates(let path): "no PEM certificate can be read from \(path)"
        }
    }
}
