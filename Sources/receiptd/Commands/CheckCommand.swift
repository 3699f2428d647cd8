import AppStore
import AppleProofs
import ArgumentParser
import Foundation
import Fulfillment
import Kafka
import Ledger
import Postgres

struct CheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Reads the settings and reaches Kafka, PostgreSQL and Apple, a line each.")

    @OptionGroup var options: SettingsOptions

    func run() async throws {
        try await reporting {
            let settings = try options.read(requiring: [.kafka, .database], telling: [.name, .value])
            print("ok      settings")
            print("ok      root certificates: \(Self.roots(settings.apple))")
            var codes: [Int32] = []
            func report(_ part: String, _ result: Result<String, CheckFailure>) {
                switch result {
                case .success(let text): print("ok      \(part): \(text)")
                case .failure(let failure):
                    codes.append(failure.code)
                    print("FAILED  \(part): \(failure.message)")
                }
            }
            for result in await KafkaCheck(kafka: settings.kafka).results() { report("kafka", result) }
            report("postgresql", await database(settings))
            report("partitions", await MaintenanceCheckLine.run(settings))
            report("postgresql rights", await LedgerCheck.run(settings))
            for (name, result) in await apple(settings) { report(name, result) }
            for check in await ServerAPICheck.all(settings, options.secrets) { report(check.name, check.result) }
            // What only a person mends comes first.
            if let code = codes.max() { throw ExitCode(code) }
        }
    }

    /// Whose they are: a test's root in production would be found here.
    private static func roots(_ apple: AppleSettings) -> String {
        guard let file = apple.rootCertificatesFile else { return "Apple's" }
        return "\(apple.roots.fingerprints.count) of \(file), in place of Apple's"
    }

    private func database(_ settings: Settings) async -> Result<String, CheckFailure> {
        do {
            return try await withDatabase(settings) { pool in
                try await requireSchema(pool)
                guard let version = try await CatalogStore(pool: pool).latestVersion() else {
                    return .failure(CheckFailure(message: "no catalog yet: run `receiptd catalog import FILE`"))
                }
                return .success("schema \(Schema.currentVersion), catalog \(version)")
            }
        } catch let failure as CommandFailure {
            return .failure(CheckFailure(message: failure.message, code: failure.code))
        } catch {
            return .failure(CheckFailure(message: "\(error)"))
        }
    }

    /// A receipt that is none is asked for: any answer that Apple gives to it shows that Apple is there.
    private func apple(_ settings: Settings) async -> [(String, Result<String, CheckFailure>)] {
        var results: [(String, Result<String, CheckFailure>)] = []
        let addresses = [
            ("apple production", settings.apple.verifyReceiptProductionURL),
            ("apple sandbox", settings.apple.verifyReceiptSandboxURL),
        ]
        for (name, address) in addresses {
            var one = settings.apple.client
            one.productionURL = address
            one.sandboxURL = address
            guard let client = try? VerifyReceiptClient(settings: one, secrets: { _ in nil }) else {
                results.append((name, .failure(CheckFailure(message: "the settings do not make a client"))))
                continue
            }
            let answer = await client.verify(
                VerificationRequest(bundleID: "receiptd.check", receipt: "AAAA", sharedSecretSetting: nil))
            await client.shutdown()
            switch answer {
            case .trouble(let trouble):
                results.append((name, .failure(CheckFailure(message: "no answer (\(trouble.kind.rawValue))"))))
            default: results.append((name, .success("answers")))
            }
        }
        return results
    }
}

struct CheckFailure: Error {
    let message: String
    var code = CommandFailure.unavailable
}
