/// The settings of `receiptd console`.
package struct ConsoleSettings: Sendable {
    package enum Role: String, CaseIterable, Sendable {
        /// The user may see everything but the sessions, and may change nothing.
        case read
        /// The user may see everything and make changes.
        case operate
    }

    package struct User: Sendable {
        package let name: String
        package let role: Role
        package let password: PasswordHash

        package init(name: String, role: Role, password: PasswordHash) {
            self.name = name
            self.role = role
            self.password = password
        }
    }

    package var http = HTTPSettings(port: 8091)
    /// The hosts to which browsers may send requests, beside the console's own address, in lower case. The host of a
    /// proxy belongs here.
    package var hosts: Set<String> = []
    package var users: [User] = []

    package init() {}

    /// Throws if other machines can reach the console and it has no users.
    package func requireUsers() throws(SettingsFaults) {
        guard users.isEmpty, !http.isOnLoopback else { return }
        let host = SettingName.consoleHTTPHost.rawValue
        throw SettingsFaults(faults: [
            SettingsFault(
                .consoleUsers, "is required where \(host) is not a loopback address: \(ConsoleUserList.requirement)")
        ])
    }
}

/// Reads the setting with the console's users. Each line is `name:role:hash`.
enum ConsoleUserList {
    static let requirement =
        "lines of name:role:hash: a name of 1 to 64 characters without colons and white space, each once; the role "
        + "read or operate; the hash that `receiptd console password` prints, not the password itself"
    private static let maximumName = 64
    private static let maximumUsers = 1_000

    /// Returns nil if a line is faulty. The fault does not say which line, because the line may contain a password,
    /// which must not be logged.
    static func parse(_ text: String) -> [ConsoleSettings.User]? {
        var users: [ConsoleSettings.User] = []
        var names: Set<String> = []
        // "\r\n" is one character in Swift.
        for line in text.split(whereSeparator: \.isNewline) where !line.allSatisfy(\.isWhitespace) {
            let parts = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false).map(String.init)
            guard parts.count == 3, isName(parts[0]), let role = ConsoleSettings.Role(rawValue: parts[1]),
                let password = PasswordHash(parts[2]), names.insert(parts[0]).inserted,
                users.count < maximumUsers
            else { return nil }
            users.append(ConsoleSettings.User(name: parts[0], role: role, password: password))
        }
        return users
    }

    private static func isName(_ text: String) -> Bool {
        (1...maximumName).contains(text.unicodeScalars.count)
            && text.unicodeScalars.allSatisfy { scalar in
                scalar.value > 0x20 && !scalar.properties.isWhitespace
                    && ![.control, .format].contains(scalar.properties.generalCategory)
            }
    }
}

extension Settings.Reader {
    func readConsole(_ checks: inout SettingsChecks, into console: inout ConsoleSettings) {
        checks.address(.consoleHTTPHost, .consoleHTTPPort, into: &console.http)
        checks.read(
            .consoleHosts, into: &console.hosts,
            mustBe: "host names separated by commas, without ports, none of them empty"
        ) { text in
            let names = text.split(separator: ",", omittingEmptySubsequences: false).map { $0.trimmed.lowercased() }
            let isSound = names.allSatisfy { name in
                !name.isEmpty && name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x2F && $0 != 0x3A }
            }
            return isSound ? Set(names) : nil
        }
        checks.read(
            .consoleUsers, into: &console.users, mustBe: ConsoleUserList.requirement, ConsoleUserList.parse)
    }
}
