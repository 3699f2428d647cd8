import AppleProofs
import Foundation

/// The settings for requests to Apple. The default addresses are Apple's
/// (https://developer.apple.com/documentation/appstorereceipts/verifyreceipt,
/// https://developer.apple.com/documentation/appstoreserverapi).
package struct AppleSettings: Sendable {
    /// The whole URL of verifyReceipt.
    package var verifyReceiptProductionURL = "https://buy.itunes.apple.com/verifyReceipt"
    package var verifyReceiptSandboxURL = "https://sandbox.itunes.apple.com/verifyReceipt"
    /// The URL of the App Store Server API up to `/inApps/`, without a slash at the end.
    package var serverAPIProductionURL = "https://api.storekit.apple.com"
    package var serverAPISandboxURL = "https://api.storekit-sandbox.apple.com"
    /// The time-out of a request, in seconds.
    package var timeoutSeconds = 10.0
    /// The most requests of one replica in flight.
    package var maxConcurrency = 256
    /// The most requests per second of all replicas together, for each app and endpoint; 0 for no limit. The sandbox
    /// has a tenth of this limit.
    package var maxRequestsPerSecond = 0.0
    /// The most local answers (rejections by screening) per minute for which a replica later asks Apple; 0 for none.
    package var localRefusalChecksPerMinute = 6
    /// The path of a PEM file with the roots for TLS to Apple; nil for the system's roots.
    package var caFile: String?
    /// The path of a PEM file with the roots for signatures of receipts and JWS; nil for Apple's roots.
    package var rootCertificatesFile: String?
    /// The roots in `rootCertificatesFile`; Apple's roots if that path is nil.
    package var roots = AppleRoots.builtIn
}

extension AppleSettings {
    /// The number of roots that are not Apple's.
    package var foreignRoots: Int { roots.foreignCount }

    /// The settings that contain an address of Apple.
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
