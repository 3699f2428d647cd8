import Testing

@testable import Operations

@Suite("Misconfigured apps")
struct MisconfigurationTests {
    @Test("an app counts as misconfigured until its last cause ends, independently of another app")
    func causes() {
        let metrics = ReceiptdMetrics(version: "test")
        func value(_ bundleID: String) -> Double { metrics.misconfigured.with(bundleID).value }
        metrics.misconfiguration.set("a", "credentials", because: "credentials lacks")
        metrics.misconfiguration.set("a", "no_server_api", because: "no_server_api lacks")
        metrics.misconfiguration.set("b", "no_server_api", because: "no_server_api lacks")
        metrics.misconfiguration.set("a", "credentials", because: nil)
        #expect(value("a") == 1 && value("b") == 1)
        metrics.misconfiguration.set("a", "no_server_api", because: nil)
        metrics.misconfiguration.set("a", "no_server_api", because: nil)
        #expect(value("a") == 0 && value("b") == 1)
    }

    @Test("readyz lists an instruction for each misconfigured app and cause, and the process stays ready")
    func told() {
        let metrics = ReceiptdMetrics(version: "test")
        let health = Health(failures: Failures(metrics: metrics), needing: [])
        metrics.misconfiguration.set("b", "no_server_api", because: "give it a key")
        metrics.misconfiguration.set("a", "credentials", because: "compare the secret")
        #expect(health.readyz().ok)
        let lines = ["ready", "a waits for an operator: compare the secret", "b waits for an operator: give it a key"]
        #expect(health.readyz().text == lines.map { $0 + "\n" }.joined())
        metrics.misconfiguration.set("b", "no_server_api", because: nil)
        metrics.misconfiguration.set("a", "credentials", because: nil)
        #expect(health.readyz().text == "ready\n")
    }
}
