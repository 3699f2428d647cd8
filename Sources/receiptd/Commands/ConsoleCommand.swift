import ArgumentParser
import Monitoring
import ReceiptdConfiguration

struct ConsoleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "console",
        abstract: "A web page for support and operators over PostgreSQL, until SIGTERM or SIGINT.",
        discussion: """
            http://127.0.0.1:8091/ unless CONSOLE_HTTP_HOST and CONSOLE_HTTP_PORT say otherwise. CONSOLE_USERS names who may sign \
            in, each with the hash of a password, which `receiptd console password` makes. It needs no Kafka. Put a proxy with \
            TLS in front where it is reached from elsewhere, and its name in CONSOLE_HOSTS.
            """,
        subcommands: [Serve.self, Password.self], defaultSubcommand: Serve.self)

    /// `receiptd console` by itself.
    struct Serve: OperatorCommand {
        static let configuration = CommandConfiguration(
            commandName: "serve", abstract: "The same as `receiptd console`.", shouldDisplay: false)

        static let requirements: Set<Settings.Requirement> = [.database]
        /// They go to the log.
        static let told: Set<SettingsWarning.Kind> = []

        @OptionGroup var options: SettingsOptions

        func run(_ settings: Settings) async throws {
            try settings.console.requireUsers()
            let logger = settings.log.makeLogger()
            settings.tellWarnings(logger)
            try await ConsoleRunner(settings: settings, logger: logger).run()
        }
    }
}
