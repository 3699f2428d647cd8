/// A fault of the settings. Its text never contains a secret.
package struct SettingsFault: Error, Sendable, Equatable, CustomStringConvertible {
    /// The setting's name in the environment, or an unknown key of the settings file.
    package let setting: String
    package let message: String
    /// The line in the settings file, from 1; nil if the value has another source.
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

/// The faults of the settings, in the order of `SettingName`.
package struct SettingsFaults: Error, Sendable, Equatable, CustomStringConvertible {
    /// The exit code of the program: EX_CONFIG of sysexits.h.
    package static let exitCode: Int32 = 78

    package let faults: [SettingsFault]
    /// The warnings about names like a setting's name, which may be the reason why a setting is missing.
    package var warnings: [SettingsWarning] = []

    /// One line for each fault and warning.
    package var description: String {
        (faults.map(\.description) + warnings.map(\.description)).joined(separator: "\n")
    }
}
