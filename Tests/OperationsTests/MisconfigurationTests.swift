import Testing

@testable import Operations

@Suite("Misconfigured apps")
struct MisconfigurationTests {
    @Test("an app is misconfigured until the last cause has ended, and each app for itself")
    func causes() {
        let metrics = ReceiptdMetrics(version: "test")
        func value(_ bundleID: String) -> Double { metrics.misconfigured.with(bundleID).value }
        metrics.misconfiguration.set("a", "credentials", true)
        metrics.misconfiguration.set("a", "no_server_api", true)
        metrics.misconfiguration.set("b", "no_server_api", true)
        metrics.misconfiguration.set("a", "credentials", false)
        #expect(value("a") == 1 && value("b") == 1)
        metrics.misconfiguration.set("a", "no_server_api", false)
        metrics.misconfiguration.set("a", "no_server_api", false)
        #expect(value("a") == 0 && value("b") == 1)
    }
}
