import Administration
import AppleProofs
import ArgumentParser
import ReceiptdConfiguration

struct CheckCommand: OperatorCommand {
    static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Reads the settings and reaches Kafka, PostgreSQL and Apple, a line each.")

    static let requirements: Set<Settings.Requirement> = [.kafka, .database]
    static let told: Set<SettingsWarning.Kind> = [.name, .value]

    @OptionGroup var options: SettingsOptions

    func run(_ settings: Settings) async throws {
        print("ok      settings")
        print("ok      root certificates: \(Self.roots(settings.apple))")
        var codes: [Int32] = []
        func report(_ part: String, _ result: Result<String, CheckFailure>) {
            report(part, result.map { CheckFinding($0) })
        }
        func report(_ part: String, _ result: Result<CheckFinding, CheckFailure>) {
            switch result {
            case .success(let finding): print("\(finding.isWarning ? "WARN  " : "ok    ")  \(part): \(finding.text)")
            case .failure(let failure):
                codes.append(failure.code)
                print("FAILED  \(part): \(failure.message)")
            }
        }
        for result in await KafkaCheck(kafka: settings.kafka).results() { report("kafka", result) }
        report("postgresql", await DatabaseCheck.run(settings.database))
        report("partitions", await MaintenanceCheckLine.run(settings.database))
        report("postgresql rights", await LedgerCheck.run(settings.database))
        for check in await VerifyReceiptCheck.all(settings.apple) { report(check.name, check.result) }
        for check in await ServerAPICheck.all(settings, options.secrets) { report(check.name, check.result) }
        // What only a person mends comes first.
        if let code = codes.max() { throw ExitCode(code) }
    }

    /// Whose they are: a test's root in production would be found here.
    private static func roots(_ apple: ReceiptdConfiguration.AppleSettings) -> String {
        guard let file = apple.rootCertificatesFile else { return "Apple's" }
        return "\(apple.roots.fingerprints.count) of \(file), in place of Apple's"
    }
}
