import ArgumentParser
import Logging
import Operations
import Postgres
import ReceiptdConfiguration

struct ConsoleCommand: OperatorCommand {
    static let configuration = CommandConfiguration(
        commandName: "console",
        abstract: "A web page for support and operators over PostgreSQL, until SIGTERM or SIGINT.",
        discussion: """
            http://127.0.0.1:8091/ unless CONSOLE_HTTP_HOST and CONSOLE_HTTP_PORT say otherwise. CONSOLE_USERS names who may sign \
            in. It needs no Kafka. Put a proxy with TLS in front where it is reached from elsewhere, and its name in \
            CONSOLE_HOSTS.
            """)

    static let requirements: Set<Settings.Requirement> = [.database]
    /// They go to the log.
    static let told: Set<SettingsWarning.Kind> = []

    @OptionGroup var options: SettingsOptions

    func run(_ settings: Settings) async throws {
        try settings.console.requireUsers()
        let logger = settings.log.makeLogger()
        for warning in settings.warnings {
            logger.warning(
                "a setting looks mistaken", [.setting: "\(warning.setting)", .detail: "\(warning.message)"])
        }
        try await ConsoleRunner(settings: settings, logger: logger).run()
    }
}
