import AppStore
import Postgres
import ReceiptdConfiguration

extension Settings.Reader {
    /// Lets libpq and the TLS library check the settings that they will use.
    package mutating func askLibraries() {
        databaseFault = { PostgresConfiguration.faults(in: $0) }
        holdsCertificates = { AppStore.AppleSettings.holdsCertificates(caFile: $0) }
    }
}

extension DatabaseSettings {
    /// The configuration of a command's sessions.
    package var configuration: PostgresConfiguration { configuration([:]) }

    /// Returns the configuration of sessions.
    /// - Parameter sessionSettings: further PostgreSQL settings of each session, by name.
    package func configuration(_ sessionSettings: [String: String]) -> PostgresConfiguration {
        PostgresConfiguration(
            uri: url.value, latestURI: { latestURL?.value }, applicationName: "receiptd",
            preparedStatements: usesPreparedStatements,
            preparedSessionSettings: sessionSettings)
    }
}

extension ReceiptdConfiguration.AppleSettings {
    package var client: AppStore.AppleSettings {
        AppStore.AppleSettings(
            productionURL: verifyReceiptProductionURL, sandboxURL: verifyReceiptSandboxURL,
            serverAPIProductionURL: serverAPIProductionURL, serverAPISandboxURL: serverAPISandboxURL,
            timeoutSeconds: timeoutSeconds, maxConcurrency: maxConcurrency, caFile: caFile)
    }
}
