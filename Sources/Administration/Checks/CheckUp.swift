import Fulfillment
import ReceiptdConfiguration

/// Runs the checks of `receiptd check` in their order.
package struct CheckUp: Sendable {
    /// One line of the command's output.
    package struct Line: Sendable {
        package let text: String
        /// The exit code for a failed check; nil for a check that passed.
        package let code: Int32?

        init(_ part: String, _ result: Result<CheckFinding, CheckFailure>) {
            switch result {
            case .success(let finding): self.init(part, finding)
            case .failure(let failure): self.init("FAILED  \(part): \(failure.message)", code: failure.code)
            }
        }

        init(_ part: String, _ result: Result<String, CheckFailure>) {
            self.init(part, result.map { CheckFinding($0) })
        }

        init(_ part: String, _ finding: CheckFinding) {
            self.init("\(finding.isWarning ? "WARN  " : "ok    ")  \(part): \(finding.text)", code: nil)
        }

        /// The first line, which reports no fault: a command that runs checks has already read its settings.
        static let settings = Line("ok      settings", code: nil)

        private init(_ text: String, code: Int32?) { (self.text, self.code) = (text, code) }
    }

    private let settings: Settings
    private let secrets: SecretSource

    package init(_ settings: Settings, _ secrets: SecretSource) {
        self.settings = settings
        self.secrets = secrets
    }

    /// Runs all checks in order.
    /// - Parameters:
    ///   - asksForNotification: true to ask Apple for test notifications, and to wait until Kafka has them.
    ///   - tell: called with each line as soon as its check has ended.
    package func run(asksForNotification: Bool, _ tell: (Line) -> Void) async {
        tell(.settings)
        tell(Line("root certificates", roots))
        for result in await KafkaCheck(kafka: settings.kafka).results() { tell(Line("kafka", result)) }
        let (database, catalog) = await DatabaseCheck.run(settings.database)
        tell(Line("postgresql", database))
        tell(Line("partitions", await MaintenanceCheckLine.run(settings.database)))
        tell(Line("postgresql rights", await LedgerCheck.run(settings.database)))
        for check in await VerifyReceiptCheck.all(settings.apple) { tell(Line(check.name, check.result)) }
        // Without a catalog there are no apps to check. PostgreSQL's line says that the catalog is missing.
        guard let catalog else { return }
        for check in await SharedSecretCheck.all(catalog, settings, secrets) { tell(Line(check.name, check.result)) }
        for check in await ServerAPICheck.all(catalog, settings, secrets) { tell(Line(check.name, check.result)) }
        guard asksForNotification else { return }
        for check in await NotificationCheck(settings, secrets).all(catalog) { tell(Line(check.name, check.result)) }
    }

    /// The line about the root certificates. It reports roots that are not Apple's, so that an operator notices a
    /// test's root in production.
    private var roots: CheckFinding {
        guard let file = settings.apple.rootCertificatesFile else { return CheckFinding("Apple's") }
        let foreign = settings.apple.foreignRoots
        guard foreign > 0 else { return CheckFinding("Apple's, of \(file)") }
        return CheckFinding(
            "\(foreign) of \(file) are not Apple's: anyone who holds their keys can make receipts", isWarning: true)
    }
}
