import AppStore
import AppleProofs
import Fulfillment
import NamesAndTimes
import ReceiptdConfiguration

/// Checks that the App Store Server API accepts the credentials of each app with `server_api`.
package enum ServerAPICheck {
    package typealias Line = (name: String, result: Result<String, CheckFailure>)

    /// The length of the notification history that the check asks for. An hour is enough, because the check does not
    /// use the content.
    private static let historyMilliseconds: Int64 = 3_600_000

    package static func all(_ catalog: Catalog, _ settings: Settings, _ secrets: SecretSource) async -> [Line] {
        var lines: [Line] = []
        let apps = catalog.apps.values.sorted { $0.bundleID.text < $1.bundleID.text }
        for app in apps {
            guard let credentials = app.serverAPI else { continue }
            for environment in StoreEnvironment.allCases {
                let name = "apple server API, \(environment.rawValue), of \(ShownText.plain(app.bundleID.text))"
                lines.append((name, await ask(environment, app, credentials, settings, secrets)))
            }
        }
        return lines
    }

    private static func ask(
        _ environment: StoreEnvironment, _ app: AppPolicy, _ credentials: ServerAPICredentials,
        _ settings: Settings, _ secrets: SecretSource
    ) async -> Result<String, CheckFailure> {
        let setting = credentials.privateKeySetting
        if let fault = SharedSecretCheck.fault(of: setting, secrets) { return .failure(fault) }
        let note = ReachNote()
        // The settings of Production and the sandbox get one address, so that the client asks only at this address.
        var one = settings.apple.client
        let address = environment == .production ? one.serverAPIProductionURL : one.serverAPISandboxURL
        one.serverAPIProductionURL = address
        one.serverAPISandboxURL = address
        let client = try? ServerAPIClient(
            settings: one, secrets: { secrets.secret(named: $0) }, proofs: ProofReader(roots: settings.apple.roots),
            observer: note)
        guard let client else {
            return .failure(CheckFailure("receiptd cannot make an HTTP client with these settings"))
        }
        // Every answer about this transaction, except 401, shows that Apple accepted the token.
        let id = ServerAPIClient.noTransaction
        var request = VerificationRequest(bundleID: app.bundleID, subject: .transaction(id, credentials))
        request.isProven = true
        let answer = await client.look(up: id, credentials, for: request)
        let isKey = client.hasKey(for: app.bundleID, credentials)
        var result: Result<String, CheckFailure>
        switch answer {
        case .blocked where !isKey:
            result = .failure(CheckFailure("\(setting) holds no private key", code: CommandFailure.wrongSettings))
        case .blocked:
            result = .failure(
                CheckFailure(
                    "Apple refuses the credentials (HTTP 401): compare issuer_id, key_id and the key in \(setting) "
                        + "with App Store Connect, and check the machine's clock", code: CommandFailure.wrongSettings))
        case .trouble(let trouble): result = .failure(CheckFailure(note.words(trouble)))
        case .genuine, .refused: result = .success("Apple accepts the credentials")
        }
        if case .success(let text) = result, readsHistory(of: app, in: environment, settings) {
            let context = StoreQueryContext(
                bundleID: app.bundleID, credentials: credentials, environment: environment, share: .submission)
            result = .success("\(text); \(await historyLine(client, context))")
        }
        await client.shutdown()
        return result
    }

    private static func readsHistory(
        of app: AppPolicy, in environment: StoreEnvironment, _ settings: Settings
    ) -> Bool {
        guard app.announcements.readsNotificationHistory, settings.announcements.historySeconds > 0 else {
            return false
        }
        return environment == .production || app.sandbox != .reject
    }

    /// Returns a sentence about the notification history. Apple keeps a history of the notifications that it tried to
    /// send. For an app without an address, Apple sends no notification. A missing address does not fail the check,
    /// because receiptd grants purchases without notifications.
    private static func historyLine(_ client: ServerAPIClient, _ context: StoreQueryContext) async -> String {
        let now = WallClock.now
        let window = NotificationHistoryWindow(from: now.adding(milliseconds: -historyMilliseconds), to: now)
        switch await client.notificationHistory(window, page: nil, context) {
        case .answered: return "Apple keeps a notification history"
        case .refused(StoreErrorCode.noNotificationURL):
            return
                "Apple keeps no notification history, because App Store Connect has no notification address (4040007)"
        case .refused(let code): return "Apple refuses the notification history (\(code))"
        case .notFound: return "Apple knows no notification history"
        case .blocked: return "Apple refuses the notification history"
        case .trouble(let trouble):
            return "Apple gives no answer about the notification history (\(trouble.kind.rawValue))"
        }
    }
}
