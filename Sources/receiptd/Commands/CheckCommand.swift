import Administration
import ArgumentParser
import ReceiptdConfiguration

struct CheckCommand: OperatorCommand {
    static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Tries the settings, Kafka, PostgreSQL and Apple, and prints a line for each.")

    static let requirements: Set<Settings.Requirement> = [.kafka, .database]
    static let told: Set<SettingsWarning.Kind> = [.name, .value]

    @Flag(help: "Request a test notification from Apple for each app with server_api, and wait two minutes at most.")
    var notification = false
    @OptionGroup var options: SettingsOptions

    func run(_ settings: Settings) async throws {
        var codes: [Int32] = []
        await CheckUp(settings, options.secrets).run(asksForNotification: notification) { line in
            print(line.text)
            if let code = line.code { codes.append(code) }
        }
        // The highest code has priority: the code of wrong settings, which only a person can correct.
        if let code = codes.max() { throw ExitCode(code) }
    }
}
