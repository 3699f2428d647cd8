import Foundation
import Testing

@testable import ReceiptdConfiguration

@Suite("Settings that name the sample root certificates")
struct PublishedRootTests {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("seeds/signing/root.pem").path
    static let simulated = [
        "APPLE_VERIFY_RECEIPT_PRODUCTION_URL": "http://127.0.0.1:1/production/verifyReceipt",
        "APPLE_VERIFY_RECEIPT_SANDBOX_URL": "http://127.0.0.1:1/sandbox/verifyReceipt",
        "APPLE_SERVER_API_PRODUCTION_URL": "http://127.0.0.1:1/production",
        "APPLE_SERVER_API_SANDBOX_URL": "http://127.0.0.1:1/sandbox",
    ]

    private func read(_ environment: [String: String]) throws -> Settings {
        try Settings.Reader(environment: environment).read(requiring: [])
    }

    @Test("the settings accept the sample root certificates only if no configured address is Apple's own")
    func beside() throws {
        let root = ["APPLE_ROOT_CERTIFICATES_FILE": Self.root]
        let all = #expect(throws: SettingsFaults.self) { _ = try read(root) }
        #expect(all?.description.contains("whose keys are public") == true)
        #expect(try read(root.merging(Self.simulated) { $1 }).apple.foreignRoots == 2)
        for (name, address) in [
            ("APPLE_VERIFY_RECEIPT_PRODUCTION_URL", "https://BUY.itunes.apple.com/verifyReceipt"),
            ("APPLE_SERVER_API_PRODUCTION_URL", "https://api.storekit.apple.com."),
            ("APPLE_SERVER_API_SANDBOX_URL", "https://apple.com"),
        ] {
            let faults = #expect(throws: SettingsFaults.self, "\(name)") {
                _ = try read(root.merging(Self.simulated) { $1 }.merging([name: address]) { $1 })
            }
            #expect(faults?.description.contains("\(name) is an address of Apple's own") == true, "\(faults as Any)")
        }
        let near = Self.simulated.merging(["APPLE_SERVER_API_SANDBOX_URL": "https://notapple.com"]) { $1 }
        #expect(throws: Never.self) { try read(root.merging(near) { $1 }) }
    }
}
