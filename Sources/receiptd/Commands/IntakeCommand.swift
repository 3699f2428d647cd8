import ArgumentParser
import Monitoring
import ReceiptdConfiguration

struct IntakeCommand: OperatorCommand {
    static let configuration = CommandConfiguration(
        commandName: "intake",
        abstract:
            "Receives Apple's notifications over HTTP and publishes them to their topic.",
        discussion: """
            Serves POST /app-store-notifications until SIGTERM or SIGINT. Needs no database. INTAKE_BUNDLE_IDS names your \
            apps; on a loopback address it may be empty. Apple requires HTTPS: put a TLS proxy in front.
            """)

    static let requirements: Set<Settings.Requirement> = [.kafka]
    /// The set is empty, because the command logs the warnings.
    static let told: Set<SettingsWarning.Kind> = []

    @OptionGroup var options: SettingsOptions

    func run(_ settings: Settings) async throws {
        try settings.announcements.intake.requireApps()
        let logger = settings.log.makeLogger()
        settings.tellWarnings(logger)
        try await IntakeRunner(settings: settings, logger: logger).run()
    }
}
