import Testing

@testable import ReceiptdConfiguration

@Suite("Settings of the console")
struct ConsoleSettingsTests {
    private func read(_ environment: [String: String]) throws -> Settings {
        try Settings.Reader(environment: environment).read(requiring: [])
    }

    @Test("users are name, role and password, one a line, and nothing of them is shown")
    func users() throws {
        let settings = try read([
            "CONSOLE_USERS": "ann:operate:a:b c\r\n\n rob-2:read:x\n".replacing(" rob", with: "rob")
        ])
        #expect(settings.console.users.map(\.name) == ["ann", "rob-2"])
        #expect(settings.console.users.map(\.role) == [.operate, .read])
        #expect(settings.console.users.map(\.password.value) == ["a:b c", "x"])
        let shown = settings.redactedSummary.first { $0.0 == "CONSOLE_USERS" }
        #expect(shown?.1 == "2 users")
    }

    @Test(
        "what is no list of users is a fault that does not show it",
        arguments: [
            "ann", "ann:operate", "ann:operate:", "ann:admin:secret-9", ":read:secret-9", "a b:read:secret-9",
            "ann:read:secret-9\nann:operate:secret-9",
        ])
    func faultyUsers(text: String) {
        let faults = #expect(throws: SettingsFaults.self) { _ = try read(["CONSOLE_USERS": text]) }
        #expect(faults?.description.contains("CONSOLE_USERS") == true)
        #expect(faults?.description.contains("secret-9") == false)
    }

    @Test("without users it may only listen on loopback")
    func loopback() throws {
        for host in ["127.0.0.1", "::1", "localhost", "127.1.2.3"] {
            #expect(throws: Never.self) { try read(["CONSOLE_HTTP_HOST": host]).console.requireUsers() }
        }
        for host in ["0.0.0.0", "::", "10.0.0.7", "127.example", "127.0.0.1.example"] {
            #expect(throws: SettingsFaults.self, "\(host)") {
                try read(["CONSOLE_HTTP_HOST": host]).console.requireUsers()
            }
            #expect(throws: Never.self) {
                try read(["CONSOLE_HTTP_HOST": host, "CONSOLE_USERS": "ann:read:x"]).console.requireUsers()
            }
        }
        #expect(try read(["CONSOLE_HOSTS": "Pay.Example, b"]).console.hosts == ["pay.example", "b"])
        for text in ["a,", "http://a", "a:80"] {
            #expect(throws: SettingsFaults.self) { _ = try read(["CONSOLE_HOSTS": text]) }
        }
    }
}
