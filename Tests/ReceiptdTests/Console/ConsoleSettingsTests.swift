import Testing

@testable import ReceiptdConfiguration

@Suite("The settings of `receiptd console`")
struct ConsoleSettingsTests {
    private func read(_ environment: [String: String]) throws -> Settings {
        try Settings.Reader(environment: environment).read(requiring: [])
    }

    private static let hash = "$scrypt$ln=15,r=8,p=1$dGVzdHMgb2YgcmVjZWlwMg$sbKecv7T+yQ2FOmqaB+/Ll8KmQA9r4tMKeCEv6xh3aE"

    @Test("the settings read name, role and hash from each line of CONSOLE_USERS, and print only the number of users")
    func users() throws {
        let settings = try read(["CONSOLE_USERS": "ann:operate:\(Self.hash)\r\n\nrob-2:read:\(Self.hash)\n"])
        #expect(settings.console.users.map(\.name) == ["ann", "rob-2"])
        #expect(settings.console.users.map(\.role) == [.operate, .read])
        #expect(settings.console.users.map(\.password.text) == [Self.hash, Self.hash])
        let shown = settings.redactedSummary.first { $0.0 == "CONSOLE_USERS" }
        #expect(shown?.1 == "2 users")
        #expect(!"\(settings.console.users)".contains("sbKecv7T"))
    }

    @Test(
        "if CONSOLE_USERS is malformed, the fault names `receiptd console password`, and shows no password or hash",
        arguments: [
            "ann", "ann:operate", "ann:operate:", "ann:operate:secret-9", "ann:admin:$", ":read:$", "a b:read:$",
            "ann:read:$\nann:operate:$", "ann:read:$\nrob:operate:secret-9",
        ])
    func faultyUsers(text: String) {
        let faults = #expect(throws: SettingsFaults.self) {
            _ = try read(["CONSOLE_USERS": text.replacing("$", with: Self.hash)])
        }
        #expect(faults?.description.contains("CONSOLE_USERS") == true)
        #expect(faults?.description.contains("`receiptd console password`") == true)
        #expect(faults?.description.contains("secret-9") == false)
        #expect(faults?.description.contains("sbKecv7T") == false)
    }

    @Test("without users in CONSOLE_USERS the console may listen only on loopback")
    func loopback() throws {
        for host in ["127.0.0.1", "::1", "localhost", "127.1.2.3"] {
            #expect(throws: Never.self) { try read(["CONSOLE_HTTP_HOST": host]).console.requireUsers() }
        }
        for host in ["0.0.0.0", "::", "10.0.0.7", "127.example", "127.0.0.1.example"] {
            #expect(throws: SettingsFaults.self, "\(host)") {
                try read(["CONSOLE_HTTP_HOST": host]).console.requireUsers()
            }
            #expect(throws: Never.self) {
                try read(["CONSOLE_HTTP_HOST": host, "CONSOLE_USERS": "ann:read:\(Self.hash)"]).console.requireUsers()
            }
        }
        #expect(try read(["CONSOLE_HOSTS": "Pay.Example, b"]).console.hosts == ["pay.example", "b"])
        for text in ["a,", "http://a", "a:80"] {
            #expect(throws: SettingsFaults.self) { _ = try read(["CONSOLE_HOSTS": text]) }
        }
    }
}
