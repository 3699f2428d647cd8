import ArgumentParser
import Monitoring
import ReceiptdConfiguration

struct IntakeCommand: OperatorCommand {
    static let configuration = CommandConfiguration(
        commandName: "intake",
        abstract:
            "The HTTP server that takes Apple's notifications and puts them on their topic, until SIGTERM or SIGINT.",
        discussion: """
            POST /app-store-notifications. It needs no database. INTAKE_BUNDLE_IDS names the apps whose notifications it takes, \
            and is required where more than this machine reaches it. Apple asks for HTTPS: put a proxy in front.
            """)

    static let requirements: Set<Settings.Requirement> = [.kafka]
    /// They go to the log.
    static let told: Set<SettingsWarning.Kind> = []

    @OptionGroup var options: SettingsOptions

    func run(_ settings: Settings) async throws {
        try settings.announcements.intake.requireApps()
        let logger = settings.log.makeLogger()
        settings.tellWarnings(logger)
        try await IntakeRunner(settings: settings, logger: logger).run()
    }
}
