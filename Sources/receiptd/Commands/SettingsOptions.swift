import Administration
import ArgumentParser
import Foundation
import Logging
import Operations
import ReceiptdConfiguration

/// The option `--config FILE`. Every command reads its settings through this option.
struct SettingsOptions: ParsableArguments {
    @Option(help: ArgumentHelp("A YAML file of settings. Environment variables override it.", valueName: "file"))
    var config: String?

    /// - Parameter kinds: the kinds of warnings to print to standard error.
    func read(
        requiring required: Set<Settings.Requirement>, telling kinds: Set<SettingsWarning.Kind>
    ) throws(SettingsFaults) -> Settings {
        var reader = Settings.Reader(environment: ProcessInfo.processInfo.environment, file: config)
        reader.askLibraries()
        // If a command needs no service, it grants nothing, so it may trust the samples' roots.
        let settings = try reader.read(requiring: required, trustingSampleRoots: required.isEmpty)
        for warning in settings.warnings where kinds.contains(warning.kind) { printError(warning.description) }
        return settings
    }

    var secrets: SecretSource { SecretSource(environment: ProcessInfo.processInfo.environment) }
}

extension LogSettings {
    func makeLogger() -> Logger {
        let format: LogFormat =
            switch self.format {
            case .json: .json
            case .text: .text
            }
        StandardErrorLogHandler.bootstrap(format: format, level: LogLevelSwitch(level))
        return Logger(label: "receiptd")
    }
}
