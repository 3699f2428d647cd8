import AppleProofs
import Foundation

/// The way to reach Apple. The addresses are Apple's own unless told otherwise
/// (https://developer.apple.com/documentation/appstorereceipts/verifyreceipt,
/// https://developer.apple.com/documentation/appstoreserverapi).
package struct AppleSettings: Sendable {
    /// Whole URLs.
    package var verifyReceiptProductionURL = "https://buy.itunes.apple.com/verifyReceipt"
    package var verifyReceiptSandboxURL = "https://sandbox.itunes.apple.com/verifyReceipt"
    /// The part before `/inApps/`, without a slash at its end.
    package var serverAPIProductionURL = "https://api.storekit.apple.com"
    package var serverAPISandboxURL = "https://api.storekit-sandbox.apple.com"
    /// The limit of one request.
    package var timeoutSeconds = 10.0
    /// Requests in flight from one replica.
    package var maxConcurrency = 256
    /// The limit of all replicas together, for each app and endpoint; 0: no limit. The sandbox has a tenth of it.
    package var maxRequestsPerSecond = 0.0
    /// Local refusals put to Apple a minute, by each replica; 0 none.
    package var localRefusalChecksPerMinute = 6
    /// Path of PEM roots for TLS to Apple; nil: the system's.
    package var caFile: String?
    /// Path of PEM roots for receipt and JWS signatures, in place of Apple's.
    package var rootCertificatesFile: String?
    /// The roots of the file; Apple's own without one.
    package var roots = AppleRoots.builtIn
}

extension AppleSettings {
    /// Roots that are not Apple's.
    package var foreignRoots: Int { roots.foreignCount }

    /// The addresses that are Apple's own.
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
