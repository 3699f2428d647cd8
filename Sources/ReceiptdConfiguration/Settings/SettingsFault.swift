/// A fault of the settings. The text never holds the value of a secret.
package struct SettingsFault: Error, Sendable, Equatable, CustomStringConvertible {
    /// The setting's name in the environment; for an unknown key, the key in the file.
    package let setting: String
    package let message: String
    /// The line in the settings file, from 1; nil if the value comes from elsewhere.
    let line: Int?

    init(_ setting: String, _ message: String, line: Int? = nil) {
        self.setting = setting
        self.message = message
        self.line = line
    }

    init(_ setting: SettingName, _ message: String, line: Int? = nil) {
        self.init(setting.rawValue, message, line: line)
    }

    package var description: String {
        let place = line.map { " (line \($0) of the settings file)" } ?? ""
        return "\(ShownText.plain(setting))\(place): \(message)"
    }
}

/// The faults of the settings, in the order in which settings are documented.
package struct SettingsFaults: Error, Sendable, Equatable, CustomStringConvertible {
    /// The exit code of the program: EX_CONFIG of sysexits.h.
    package static let exitCode: Int32 = 78

    package let faults: [SettingsFault]
    /// The warnings about names that resemble a setting's, which may explain a missing setting.
    package var warnings: [SettingsWarning] = []

    /// One line for each fault and warning.
    package var description: String {
        (faults.map(\.description) + warnings.map(\.description)).joined(separator: "\n")
    }
}
