import ArgumentParser
import Logging
import Operations
import ReceiptdConfiguration

struct IntakeCommand: OperatorCommand {
    static let configuration = CommandConfiguration(
        commandName: "intake",
        abstract:
            "The HTTP server that takes Apple's notifications and puts them on their topic, until SIGTERM or SIGINT.",
        discussion: "POST /app-store-notifications. It needs no database. Apple asks for HTTPS: put a proxy in front.")

    static let requirements: Set<Settings.Requirement> = [.kafka]
    /// They go to the log.
    static let told: Set<SettingsWarning.Kind> = []

    @OptionGroup var options: SettingsOptions

    func run(_ settings: Settings) async throws {
        let logger = settings.log.makeLogger()
        for warning in settings.warnings {
            logger.warning(
                "a setting looks mistaken", [.setting: "\(warning.setting)", .detail: "\(warning.message)"])
        }
        try await IntakeRunner(settings: settings, logger: logger).run()
    }
}
