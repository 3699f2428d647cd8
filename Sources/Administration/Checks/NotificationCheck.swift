import AppStore
import AppleProofs
import Fulfillment
import Kafka
import NamesAndTimes
import ReceiptdConfiguration

/// Asks Apple for a test notification of each app, and waits until the notifications topic has it. So one check covers
/// the address in App Store Connect, `receiptd intake` and the topic.
package struct NotificationCheck: Sendable {
    package typealias Line = (name: String, result: Result<String, CheckFailure>)

    /// The default of `seconds`.
    package static let usualSeconds = 120

    private let settings: Settings
    private let secrets: SecretSource
    private let seconds: Int

    /// - Parameter seconds: the time limit within which all notifications must arrive.
    package init(_ settings: Settings, _ secrets: SecretSource, seconds: Int = usualSeconds) {
        self.settings = settings
        self.secrets = secrets
        self.seconds = seconds
    }

    /// A request to Apple for a test notification, and Apple's answer.
    private struct Asked: Sendable {
        let test: TestNotification
        let name: String
        let client: ServerAPIClient
        let context: StoreQueryContext
        let answer: StoreQueryAnswer<String>
        let note: ReachNote
    }

    package func all(_ catalog: Catalog) async -> [Line] {
        let apps = catalog.apps.values.filter { $0.serverAPI != nil }.sorted { $0.bundleID.text < $1.bundleID.text }
        guard !apps.isEmpty else {
            let why = "no app of the catalog has server_api, which a test notification needs"
            return [("notifications", .failure(CheckFailure(why, code: CommandFailure.wrongSettings)))]
        }
        let topic = NotificationTopic(kafka: settings.kafka, proofs: ProofReader(roots: settings.apple.roots))
        do {
            // The check reads the end offsets before it sends the requests to Apple, so that Apple's notifications come
            // after these offsets.
            let ends = try await topic.ends()
            var asked: [Asked] = []
            for app in apps { asked += await ask(of: app) }
            let wanted = Set(asked.compactMap { one in one.answer.isAnswered ? one.test : nil })
            var lines: [Line] = []
            do {
                let found = try await topic.wait(for: wanted, from: ends, seconds: seconds)
                for one in asked { lines.append((one.name, await result(of: one, isFound: found.contains(one.test)))) }
            } catch {
                lines = [("notifications", .failure(CheckFailure(error)))]
            }
            for one in asked { await one.client.shutdown() }
            return lines
        } catch {
            return [("notifications", .failure(CheckFailure(error)))]
        }
    }

    private func ask(of app: AppPolicy) async -> [Asked] {
        guard let credentials = app.serverAPI else { return [] }
        var asked: [Asked] = []
        for environment in StoreEnvironment.allCases where environment == .production || app.sandbox != .reject {
            let note = ReachNote()
            guard
                let client = try? ServerAPIClient(
                    settings: settings.apple.client, secrets: { [secrets] in secrets.secret(named: $0) },
                    proofs: ProofReader(roots: settings.apple.roots), observer: note)
            else { continue }
            let context = StoreQueryContext(
                bundleID: app.bundleID, credentials: credentials, environment: environment, share: .submission)
            asked.append(
                Asked(
                    test: TestNotification(bundleID: app.bundleID, environment: environment),
                    name: "notifications, \(environment.rawValue), of \(ShownText.plain(app.bundleID.text))",
                    client: client, context: context, answer: await client.requestTestNotification(context), note: note)
            )
        }
        return asked
    }

    private func result(of asked: Asked, isFound: Bool) async -> Result<String, CheckFailure> {
        switch asked.answer {
        case .answered where isFound:
            return .success("Apple's test notification came to \(settings.kafka.notificationsTopic)")
        case .answered(let token):
            let tries = await words(of: token, asked)
            return .failure(
                CheckFailure(
                    "Apple's test notification did not come to \(settings.kafka.notificationsTopic) within "
                        + "\(seconds) s: \(tries)"))
        case .refused(StoreErrorCode.noNotificationURL):
            let words = "no notification address is set in App Store Connect (4040007)"
            // A studio may do without notifications from the sandbox, so a missing sandbox address is no failure.
            return asked.test.environment == .sandbox
                ? .success(words) : .failure(CheckFailure(words, code: CommandFailure.wrongSettings))
        case .refused(let code): return .failure(CheckFailure("Apple sends no test notification (\(code))"))
        case .notFound: return .failure(CheckFailure("Apple sends no test notification"))
        case .blocked:
            return .failure(
                CheckFailure(
                    "Apple refuses the credentials, or they are missing: see this app's line `apple server API`",
                    code: CommandFailure.wrongSettings))
        case .trouble(let trouble): return .failure(CheckFailure(asked.note.words(trouble)))
        }
    }

    /// Returns a sentence about Apple's tries to deliver the notification. The sentence shows whether Apple or
    /// `receiptd intake` failed to deliver it.
    private func words(of token: String, _ asked: Asked) async -> String {
        guard case .answered(let attempts) = await asked.client.testNotificationStatus(token, asked.context) else {
            return "Apple does not say why"
        }
        guard let last = attempts.last else { return "Apple has not tried to deliver it yet" }
        let shown = ShownText.plain(last)
        return last == "SUCCESS"
            ? "Apple has delivered it (\(shown)), but Kafka does not have it: look at the address and `receiptd intake`"
            : "Apple tried in vain (\(shown)): look at the address in App Store Connect, the address's TLS versions "
                + "and certificate, and `receiptd intake`"
    }
}

extension StoreQueryAnswer {
    fileprivate var isAnswered: Bool { if case .answered = self { true } else { false } }
}
