import AppleProofs
import Foundation

/// The settings for reaching Apple. The default addresses are Apple's own
/// (https://developer.apple.com/documentation/appstorereceipts/verifyreceipt,
/// https://developer.apple.com/documentation/appstoreserverapi).
package struct AppleSettings: Sendable {
    /// Whole URLs.
    package var verifyReceiptProductionURL = "https://buy.itunes.apple.com/verifyReceipt"
    package var verifyReceiptSandboxURL = "https://sandbox.itunes.apple.com/verifyReceipt"
    /// The part before `/inApps/`, without a slash at its end.
    package var serverAPIProductionURL = "https://api.storekit.apple.com"
    package var serverAPISandboxURL = "https://api.storekit-sandbox.apple.com"
    /// The seconds that one request may take.
    package var timeoutSeconds = 10.0
    /// The most requests in flight from one replica.
    package var maxConcurrency = 256
    /// The most requests per second of all replicas together, for each app and endpoint; 0 means no limit. The sandbox
    /// has a tenth of it.
    package var maxRequestsPerSecond = 0.0
    /// The local refusals a minute that each replica checks with Apple; 0 checks none.
    package var localRefusalChecksPerMinute = 6
    /// The path of PEM roots for TLS to Apple; nil for the system's roots.
    package var caFile: String?
    /// The path of PEM roots for receipt and JWS signatures; nil for Apple's roots.
    package var rootCertificatesFile: String?
    /// The roots in `rootCertificatesFile`, or Apple's own without a file.
    package var roots = AppleRoots.builtIn
}

extension AppleSettings {
    /// The number of roots that are not Apple's.
    package var foreignRoots: Int { roots.foreignCount }

    /// The settings whose address is Apple's own.
    var apples: [SettingName] {
        let addresses: [(SettingName, String)] = [
            (.appleVerifyReceiptProductionURL, verifyReceiptProductionURL),
            (.appleVerifyReceiptSandboxURL, verifyReceiptSandboxURL),
            (.appleServerAPIProductionURL, serverAPIProductionURL),
            (.appleServerAPISandboxURL, serverAPISandboxURL),
        ]
        return addresses.filter { Self.isApples($0.1) }.map(\.0)
    }

    private static func isApples(_ address: String) -> Bool {
        var host = URLComponents(string: address)?.host?.lowercased() ?? ""
        if host.hasSuffix(".") { host.removeLast() }
        return host == "apple.com" || host.hasSuffix(".apple.com")
    }
}
