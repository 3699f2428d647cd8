import ArgumentParser
import Foundation
import Logging
import Operations

/// `--config FILE`, and what every command makes of it.
struct SettingsOptions: ParsableArguments {
    @Option(help: ArgumentHelp("A YAML file of settings; the environment wins.", valueName: "file"))
    var config: String?

    func read(requiring required: Set<Settings.Requirement>) throws(SettingsFaults) -> Settings {
        try Settings.Reader(environment: ProcessInfo.processInfo.environment, file: config).read(requiring: required)
    }

    var secrets: SecretSource { SecretSource(environment: ProcessInfo.processInfo.environment) }
}

extension Settings {
    func makeLogger() -> Logger {
        StandardErrorLogHandler.bootstrap(format: log.format, level: LogLevelSwitch(log.level))
        return Logger(label: "receiptd")
    }
}
