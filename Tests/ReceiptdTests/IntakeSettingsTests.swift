import NamesAndTimes
import Testing

@testable import ReceiptdConfiguration

@Suite("The settings of `receiptd intake`")
struct IntakeSettingsTests {
    private func read(_ environment: [String: String]) throws -> Settings {
        try Settings.Reader(environment: environment).read(requiring: [])
    }

    @Test("if the notification intake listens beyond loopback, the settings require INTAKE_BUNDLE_IDS, as a list or *")
    func required() throws {
        for host in ["127.0.0.1", "::1", "localhost"] {
            #expect(throws: Never.self) {
                try read(["INTAKE_HTTP_HOST": host]).announcements.intake.requireApps()
            }
        }
        for host in ["0.0.0.0", "::", "10.0.0.7"] {
            let faults = #expect(throws: SettingsFaults.self, "\(host)") {
                try read(["INTAKE_HTTP_HOST": host]).announcements.intake.requireApps()
            }
            #expect(faults?.description.contains("INTAKE_BUNDLE_IDS: is required") == true, "\(faults as Any)")
            for apps in ["com.example.a", "com.example.a, com.example.b", "*"] {
                #expect(throws: Never.self, "\(apps)") {
                    try read(["INTAKE_HTTP_HOST": host, "INTAKE_BUNDLE_IDS": apps]).announcements.intake.requireApps()
                }
            }
        }
    }

    @Test("INTAKE_BUNDLE_IDS may be a list of apps, or * with a warning; * in a list and an empty entry are faults")
    func apps() throws {
        let named = try read(["INTAKE_BUNDLE_IDS": "com.example.b, com.example.a"])
        #expect(named.announcements.intake.apps.bundleIDs == ["com.example.a", "com.example.b"])
        #expect(named.warnings.isEmpty)
        #expect(
            named.redactedSummary.first { $0.0 == "INTAKE_BUNDLE_IDS" }?.1 == "com.example.a,com.example.b")
        let all = try read(["INTAKE_BUNDLE_IDS": " * "])
        #expect(all.announcements.intake.apps == .all)
        #expect(all.announcements.intake.apps.bundleIDs == nil)
        #expect(all.warnings.map(\.setting) == ["INTAKE_BUNDLE_IDS"])
        for text in ["com.example.a,*", "com.example.a,", ","] {
            #expect(throws: SettingsFaults.self, "\(text)") { _ = try read(["INTAKE_BUNDLE_IDS": text]) }
        }
    }
}
