import ArgumentParser
import Monitoring
import ReceiptdConfiguration

struct ConsoleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "console",
        abstract: "Serves a web page for support and operators, until SIGTERM or SIGINT.",
        discussion: """
            Listens on http://127.0.0.1:8091/ by default (CONSOLE_HTTP_HOST, CONSOLE_HTTP_PORT). CONSOLE_USERS lists the \
            users, with password hashes from `receiptd console password`. The console reads PostgreSQL only. To reach it \
            from other machines, put a TLS proxy in front and add the proxy's host name to CONSOLE_HOSTS.
            """,
        subcommands: [Serve.self, Password.self], defaultSubcommand: Serve.self)

    /// Runs `receiptd console` if the operator names no subcommand.
    struct Serve: OperatorCommand {
        static let configuration = CommandConfiguration(
            commandName: "serve", abstract: "The same as `receiptd console`.", shouldDisplay: false)

        static let requirements: Set<Settings.Requirement> = [.database]
        /// The set is empty, because the command logs the warnings.
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
