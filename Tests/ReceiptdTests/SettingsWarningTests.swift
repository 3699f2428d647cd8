import Foundation
import Testing

@testable import ReceiptdConfiguration

@Suite("Settings that look mistaken")
struct SettingsWarningTests {
    private func warnings(_ environment: [String: String]) throws -> [String] {
        var reader = Settings.Reader(environment: environment)
        reader.libraryFaults = { _ in [] }
        return try reader.read(requiring: []).warnings.map(\.description)
    }

    @Test(
        "if an environment variable is within two letters of a setting's name, a warning names the setting",
        arguments: [
            ("APPLE_MAX_CONCURENCY", "APPLE_MAX_CONCURRENCY"), ("MAX_INFLIGHT", "MAX_IN_FLIGHT"),
            ("KAFKA_BOOTSTRAP_SERVER", "KAFKA_BOOTSTRAP_SERVERS"), ("DATABASE_ULR", "DATABASE_URL"),
            ("DATABASE_URL_FIEL", "DATABASE_URL_FILE"), ("HTTP_PROT", "HTTP_PORT"), ("LOGLEVEL", "LOG_LEVEL"),
        ])
    func near(name: String, meant: String) throws {
        #expect(try warnings([name: "5"]) == ["warning: \(name): there is no setting of this name: is \(meant) meant?"])
    }

    @Test("an environment variable causes no warning if it is a setting, is from Kubernetes, or resembles no setting")
    func far() throws {
        let others = [
            "PATH": "/bin", "HOME": "/", "KAFKA_PORT": "tcp://10.0.0.1:9092", "KAFKA_SERVICE_HOST": "10.0.0.1",
            "DATABASE_URL_FILE": "", "LANG": "C", "APPLE_MAX_CONC": "3", "LUCKY917_SHARED_SECRET": "x",
            "HTTP_PROXY": "http://proxy", "LC_ALL": "C", "PGHOST": "db",
        ]
        #expect(try warnings(others).isEmpty)
        for name in SettingName.allCases { #expect(NearName.warnings([name.rawValue: "1"]).isEmpty) }
    }

    @Test("if a required setting's name is misspelt, the fault names the right setting and does not show the value")
    func missing() {
        do throws(SettingsFaults) {
            _ = try Settings.Reader(environment: ["DATABASE_UR": "postgresql://u:hush@db/x"]).read(requiring: [
                .database
            ])
            Issue.record("DATABASE_URL is not set")
        } catch {
            #expect(error.description.contains("is DATABASE_URL meant?"), "\(error)")
            #expect(!error.description.contains("hush"))
        }
    }

    @Test("a misspelt key of the settings file is a fault that names the right key")
    func inFile() throws {
        try withFile("apple: { maxConcurency: 5 }\n") { path in
            let faults = settingsFaults([:], file: path)
            #expect(faults.map(\.message) == ["there is no setting of this name: is apple.maxConcurrency meant?"])
        }
    }

    @Test("white space around a signing key causes a warning that does not show the key")
    func blanks() throws {
        #expect(try warnings(["SUBMISSION_SIGNING_KEYS": "one,two words,three"]).isEmpty)
        for text in ["one, two", "one ,two", " one", "one\t"] {
            let told = try warnings(["SUBMISSION_SIGNING_KEYS": text])
            #expect(
                told.count == 1 && told[0].contains("SUBMISSION_SIGNING_KEYS: a key begins or ends with white space"))
            #expect(!told[0].contains("one"), "\(told)")
        }
    }

    @Test("an http:// address in any of the settings of Apple's URLs causes a warning")
    func unencrypted() throws {
        for name in SettingName.allCases where name.rawValue.hasPrefix("APPLE_") && name.rawValue.hasSuffix("_URL") {
            #expect(try warnings([name.rawValue: "https://example.com/x"]).isEmpty)
            let told = try warnings([name.rawValue: "HTTP://example.com/x"])
            #expect(told.count == 1 && told[0].hasPrefix("warning: \(name.rawValue): begins with http://"), "\(told)")
        }
        #expect(try warnings([:]).isEmpty)
    }
}
