import Foundation
import TestSupport
import Testing

extension EndToEnd {
    private static let commands = [["run"], ["check"], ["migrate"], ["parked", "list"], ["console"], ["intake"]]

    /// Expects that each command exits 78, and prints one line that names the setting and shows no password.
    private func expectFault(of setting: String, _ value: String) async throws {
        let sound = [
            "KAFKA_BOOTSTRAP_SERVERS": "127.0.0.1:1", "DATABASE_URL": "postgresql://nobody:hush@127.0.0.1:1/none",
        ]
        for command in Self.commands {
            let ending = try await Program.run(command, environment: sound.merging([setting: value]) { $1 })
            #expect(ending.code == 78, "\(command) \(value): \(ending)")
            #expect(ending.errors.hasPrefix("\(setting): "), "\(command) \(value): \(ending)")
            #expect(!ending.errors.contains("hush") && ending.errors.count { $0 == "\n" } == 1, "\(ending)")
        }
    }

    @Test(
        "if libpq cannot parse DATABASE_URL, commands exit with 78, name the setting, and show no password",
        arguments: [
            "postgresql://u:hush@127.0.0.1:1/db?sslmod=require", "postgresql://u:hush@h:99999/d",
            "postgresql://u:hush%zz@h/d", "postgresql://u:hush@127.0.0.1:1/d?sslmode=hush",
        ])
    func malformedDatabaseURL(uri: String) async throws {
        try await expectFault(of: "DATABASE_URL", uri)
    }

    @Test(
        "if APPLE_CA_FILE has no certificate, commands exit with 78 and name the setting",
        arguments: ["/dev/null", "/etc/hostname"])
    func noCertificates(path: String) async throws {
        try await expectFault(of: "APPLE_CA_FILE", path)
    }
}
