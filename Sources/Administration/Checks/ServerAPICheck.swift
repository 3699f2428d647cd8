import AppStore
import AppleProofs
import Fulfillment
import Ledger
import ReceiptdConfiguration

/// Whether the App Store Server API takes the credentials of each app that has some.
package enum ServerAPICheck {
    package typealias Line = (name: String, result: Result<String, CheckFailure>)

    /// An id that no transaction has: any answer about it shows that the token was taken.
    private static let noTransaction: StoreTransactionID = "0"

    /// Nothing where there is no catalog to be read: another line says so.
    package static func all(_ settings: Settings, _ secrets: SecretSource) async -> [Line] {
        guard let catalog = try? await catalog(settings) else { return [] }
        var lines: [Line] = []
        let apps = catalog.apps.values.sorted { $0.bundleID.text < $1.bundleID.text }
        for app in apps {
            guard let credentials = app.serverAPI else { continue }
            for environment in StoreEnvironment.allCases {
                let name = "apple server API, \(environment.rawValue), of \(ShownText.plain(app.bundleID.text))"
                lines.append((name, await ask(environment, app.bundleID, credentials, settings.apple, secrets)))
            }
        }
        return lines
    }

    private static func catalog(_ settings: Settings) async throws -> Catalog? {
        try await withDatabase(settings.database) { pool in
            let store = CatalogStore(pool: pool)
            guard let version = try await store.latestVersion(),
                let document = try await store.load(version: version)
            else { return nil }
            return try CatalogFile.parse(document.document, version: version)
        }
    }

    private static func ask(
        _ environment: StoreEnvironment, _ bundleID: BundleID, _ credentials: ServerAPICredentials,
        _ apple: ReceiptdConfiguration.AppleSettings, _ secrets: SecretSource
    ) async -> Result<String, CheckFailure> {
        let setting = credentials.privateKeySetting
        switch secrets.read(setting) {
        case .failure(let fault): return .failure(CheckFailure(fault.description))
        case .success(nil): return .failure(CheckFailure("\(setting) is not set"))
        case .success: break
        }
        // Either address is asked as if it were both.
        var one = apple.client
        let address = environment == .production ? one.serverAPIProductionURL : one.serverAPISandboxURL
        one.serverAPIProductionURL = address
        one.serverAPISandboxURL = address
        let client = try? ServerAPIClient(
            settings: one, secrets: { secrets.secret(named: $0) }, proofs: ProofReader(roots: apple.roots))
        guard let client else { return .failure(CheckFailure("the settings do not make a client")) }
        let request = VerificationRequest(bundleID: bundleID, subject: .transaction(noTransaction, credentials))
        let answer = await client.look(up: noTransaction, credentials, for: request)
        let isKey = client.hasKey(for: bundleID, credentials)
        await client.shutdown()
        switch answer {
        case .blocked where !isKey: return .failure(CheckFailure("\(setting) holds no private key"))
        case .blocked: return .failure(CheckFailure("the credentials are refused (HTTP 401)"))
        case .trouble(let trouble):
            return .failure(CheckFailure("no answer (\(trouble.kind.rawValue))"))
        case .genuine, .refused: return .success("takes the credentials")
        }
    }
}
