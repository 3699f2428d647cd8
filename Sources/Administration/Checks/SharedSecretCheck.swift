import AppStore
import BackOffice
import Encodings
import Fulfillment
import NamesAndTimes
import ReceiptdConfiguration

/// Checks that the shared secret of each app is set, and that verifyReceipt accepts it.
package enum SharedSecretCheck {
    package typealias Line = (name: String, result: Result<String, CheckFailure>)

    /// A text that is no receipt. If a request contains this text, Apple answers without a look at the secret.
    private static let noReceipt = "AAAA"

    package static func all(_ catalog: Catalog, _ settings: Settings, _ secrets: SecretSource) async -> [Line] {
        var lines: [Line] = []
        for app in catalog.apps.values.sorted(by: { $0.bundleID.text < $1.bundleID.text }) {
            guard let setting = app.sharedSecretSetting else { continue }
            let name = "apple verifyReceipt, the shared secret of \(ShownText.plain(app.bundleID.text))"
            if let fault = fault(of: setting, secrets) {
                lines.append((name, .failure(fault)))
            } else {
                let receipt = await storedReceipt(of: app.bundleID, settings.database)
                lines.append((name, await ask(app, setting, receipt, settings, secrets)))
            }
        }
        return lines
    }

    /// Returns a fault if the setting has no secret or cannot be read; nil otherwise.
    static func fault(of setting: String, _ secrets: SecretSource) -> CheckFailure? {
        switch secrets.read(setting) {
        case .failure(let fault): CheckFailure(fault.description, code: CommandFailure.wrongSettings)
        case .success(nil):
            CheckFailure(
                "\(setting) is not set, and the catalog names it: set \(setting) in the environment, or set "
                    + "\(setting)_FILE to the path of a file that holds the value", code: CommandFailure.wrongSettings)
        case .success: nil
        }
    }

    /// Returns a stored receipt with a subscription, because Apple checks the secret only for such a receipt. Nil if
    /// PostgreSQL has none, or if the database role may not read it.
    private static func storedReceipt(of app: BundleID, _ database: DatabaseSettings) async -> String? {
        let stored = try? await withDatabase(database) { pool in
            try await SubscriptionAdministration(pool: pool).anyReceipt(of: app)
        }
        return stored.map { Base64.encode($0) }
    }

    private static func ask(
        _ app: AppPolicy, _ setting: String, _ receipt: String?, _ settings: Settings, _ secrets: SecretSource
    ) async -> Result<String, CheckFailure> {
        let note = ReachNote()
        let client = try? VerifyReceiptClient(
            settings: settings.apple.client, secrets: { secrets.secret(named: $0) }, observer: note)
        guard let client else {
            return .failure(CheckFailure("receiptd cannot make an HTTP client with these settings"))
        }
        var request = VerificationRequest(
            bundleID: app.bundleID, receipt: receipt ?? noReceipt, sharedSecretSetting: setting)
        request.isProven = receipt != nil
        let answer = await client.verify(request)
        await client.shutdown()
        switch answer {
        case .blocked(.sharedSecret):
            return .failure(
                CheckFailure(
                    "Apple refuses the secret (21004): \(setting) is another app's, or App Store Connect has a newer "
                        + "secret",
                    code: CommandFailure.wrongSettings))
        case .blocked(let blockage):
            return .failure(CheckFailure("Apple refuses the request (\(blockage.rawValue))"))
        case .trouble(let trouble): return .failure(CheckFailure(note.words(trouble)))
        case .genuine where receipt != nil: return .success("Apple accepts the secret")
        case .genuine, .refused:
            return .success(
                "\(setting) is set, but unchecked: Apple checks a secret only with a subscription's receipt")
        }
    }
}
