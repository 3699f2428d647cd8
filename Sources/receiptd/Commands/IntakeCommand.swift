import ArgumentParser
import Monitoring
import ReceiptdConfiguration

struct IntakeCommand: OperatorCommand {
    static let configuration = CommandConfiguration(
        commandName: "intake",
        abstract:
            "Serves the address that Apple sends notifications to, and puts them on their topic.",
        discussion: """
            Takes POST /app-store-notifications until SIGTERM or SIGINT, and needs no database. INTAKE_BUNDLE_IDS names your \
            apps; only on a loopback address it may be empty. Apple asks for HTTPS: put a proxy in front.
            """)

    static let requirements: Set<Settings.Requirement> = [.kafka]
    /// Warnings go to the log.
    static let told: Set<SettingsWarning.Kind> = []

    @OptionGroup var options: SettingsOptions

    func run(_ settings: Settings) async throws {
        try settings.announcements.intake.requireApps()
        let logger = settings.log.makeLogger()
        settings.tellWarnings(logger)
        try await IntakeRunner(settings: settings, logger: logger).run()
    }
}
