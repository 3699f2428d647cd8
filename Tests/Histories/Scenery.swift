import AppStoreSimulation
import Foundation
import HistoryModel

/// The parts in which catalogs differ.
struct CatalogTerms: OptionSet {
    let rawValue: Int

    /// The catalog has the product that the first catalog lacks.
    static let comet = CatalogTerms(rawValue: 1)
    /// Apps with `server_api` have `missed_purchases: off`.
    static let unlisted = CatalogTerms(rawValue: 2)
    /// Some products have a limit of one a day.
    static let limits = CatalogTerms(rawValue: 4)

    static let all = (0..<8).map(CatalogTerms.init)
    var file: String { "catalog-\(rawValue).yaml" }
}

/// The constants of all histories: players, Apple accounts, apps and products.
enum Scenery {
    static let players = ["anna", "ben", "cleo", "dora"]
    static let accounts = 6

    /// Returns a player id. It is a UUID, because one app uses account tokens as player ids. The records of two players
    /// go to one partition, and the records of the other two go to the other partition. A number from `firstStranger`
    /// on is a stranger's.
    static func player(_ number: Int) -> String {
        guard number < firstStranger else {
            return "0f000000-0000-4000-8000-1" + String(repeating: "0", count: 11 - "\(number)".count) + "\(number)"
        }
        return "0f000000-0000-4000-8000-00000000000\([0, 4, 1, 6][number % players.count])"
    }
    static let firstStranger = 1000
    static func name(_ player: String) -> String {
        (0..<players.count).first { self.player($0) == player }.map { players[$0] } ?? player
    }

    /// Returns the player who owns an Apple account. Two players have two accounts. Each stranger has the account with
    /// the stranger's number.
    static func payer(_ account: Int) -> String {
        player(account < firstStranger ? account % players.count : account)
    }

    struct SoldApp: Sendable {
        let bundleID: String
        let appleID: Int64
        let hasServerAPI: Bool
        let tokenIsPlayer: Bool
        let requiresToken: Bool
        /// True if workers finish the app's purchases at Apple, and answer its refund requests.
        var reports = false

        func product(_ name: String) -> String { "\(bundleID).\(name)" }
    }

    static let apps = [
        SoldApp(
            bundleID: "com.histories.plain", appleID: 1_460_000_001, hasServerAPI: false, tokenIsPlayer: false,
            requiresToken: false),
        SoldApp(
            bundleID: "com.histories.server", appleID: 1_460_000_002, hasServerAPI: true, tokenIsPlayer: false,
            requiresToken: false),
        SoldApp(
            bundleID: "com.histories.named", appleID: 1_460_000_003, hasServerAPI: true, tokenIsPlayer: true,
            requiresToken: false),
        SoldApp(
            bundleID: "com.histories.bound", appleID: 1_460_000_004, hasServerAPI: false, tokenIsPlayer: false,
            requiresToken: true),
        SoldApp(
            bundleID: "com.histories.reporting", appleID: 1_460_000_005, hasServerAPI: true, tokenIsPlayer: false,
            requiresToken: false, reports: true),
    ]

    /// The products, by the number in a step's choice `product`. The catalog lacks the last product until an operator
    /// imports another catalog.
    static let products = ["gems", "gold", "builder", "month", "year", "comet"]
    static let plans: Set<String> = ["month", "year"]
    /// The products that have a daily limit in some catalogs.
    static let limited = ["gems", "comet"]
    static let day: Int64 = 86_400_000

    static func simulated(_ app: SoldApp) -> SimulatedApp {
        SimulatedApp(
            bundleID: app.bundleID, appAppleID: app.appleID,
            products: products.map { name in
                switch name {
                case "builder": SimulatedProduct(id: app.product(name), kind: .nonConsumable)
                case "month", "year":
                    SimulatedProduct(
                        id: app.product(name),
                        plan: SimulatedPlan(
                            groupID: "777", periodMilliseconds: (name == "month" ? 30 : 365) * day,
                            graceMilliseconds: 6 * day))
                default: SimulatedProduct(id: app.product(name))
                }
            })
    }

    static func catalog(_ terms: CatalogTerms) -> String {
        "apps:\n"
            + apps.map { app in
                var lines = ["  - bundle_id: \(app.bundleID)", "    app_apple_id: \(app.appleID)"]
                if app.hasServerAPI {
                    lines += [
                        "    server_api:", "      issuer_id: 57246542-96fe-1a63-e053-0824d011072a",
                        "      key_id: 2X9R4HXF34", "      private_key_setting: HISTORIES_API_KEY",
                        "    missed_purchases: \(terms.contains(.unlisted) ? "off" : "grant")",
                    ]
                }
                if app.tokenIsPlayer { lines.append("    account_token_is: player_id") }
                if app.reports {
                    lines += ["    finish: after_grant", "    consumption: { customer_consented: true }"]
                }
                if app.requiresToken { lines.append("    account_token: require") }
                lines.append("    products:")
                for name in products where name != "comet" || terms.contains(.comet) {
                    let kind =
                        plans.contains(name)
                        ? "auto_renewable_subscription" : name == "builder" ? "non_consumable" : "consumable"
                    let limit = terms.contains(.limits) && limited.contains(name) ? ", daily_limit: 1" : ""
                    lines.append(
                        "      - { product_id: \(app.product(name)), kind: \(kind)\(limit), payload: { of: \(name) } }"
                    )
                }
                return lines.joined(separator: "\n")
            }.joined(separator: "\n") + "\n"
    }

    static func rules(_ app: SoldApp, _ terms: CatalogTerms) -> App {
        var rules = App(bundleID: app.bundleID)
        rules.hasServerAPI = app.hasServerAPI
        rules.tokenIsPlayer = app.tokenIsPlayer
        rules.requiresToken = app.requiresToken
        rules.reports = app.reports
        rules.missed = !app.hasServerAPI ? .report : terms.contains(.unlisted) ? .off : .grant
        if terms.contains(.limits) { rules.limited = Set(limited.map(app.product)) }
        rules.followsRenewals = app.hasServerAPI
        for name in products where name != "comet" { rules.products[app.product(name)] = .active }
        return rules
    }

    static let signing = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("seeds/signing")

    /// Returns the properties of consumers. `sessionMilliseconds` is the time after which the group gives a killed
    /// worker's partitions to another worker. The in-process broker requires at least 3,200 ms. A real broker requires
    /// 6,000 ms by default.
    static func consumer(sessionMilliseconds: Int) -> String {
        "session.timeout.ms=\(sessionMilliseconds);heartbeat.interval.ms=300;reconnect.backoff.max.ms=500"
    }

    /// Returns the settings of a worker. Their times are short, so that waiting work continues within seconds.
    static func settings(_ history: History) -> [String: String] {
        var settings = [
            "APPLE_ROOT_CERTIFICATES_FILE": signing.appendingPathComponent("root.pem").path,
            "HISTORIES_API_KEY_FILE": signing.appendingPathComponent("server-api-key.pem").path,
            "RETRY_DOUBT_SECONDS": "1", "RETRY_INITIAL_DELAY_SECONDS": "0.05", "RETRY_MAX_DELAY_SECONDS": "0.5",
            "RETRY_PARK_AFTER_SECONDS": "1", "APPLE_TIMEOUT_SECONDS": history.world["slow"] == 1 ? "10" : "2",
            "MISSED_PURCHASE_SECONDS": history.steps.contains { $0.kind == .putBack } ? "8" : "1",
            "LOCAL_REFUSAL_CHECKS_PER_MINUTE": "0", "HTTP_PORT": "0",
            "NOTIFICATION_HISTORY_SECONDS": history.world["history"] == 1 ? "2" : "0", "SHUTDOWN_GRACE_SECONDS": "3",
            "LOG_LEVEL": "info", "CONSUMPTION_WAIT_SECONDS": "1",
            "KAFKA_PROPERTIES": consumer(sessionMilliseconds: 3200) + ";max.in.flight=1",
        ]
        // The worker refuses a test's root certificate together with Apple's addresses. Each world sets its own
        // addresses.
        for name in [
            "APPLE_VERIFY_RECEIPT_PRODUCTION_URL", "APPLE_VERIFY_RECEIPT_SANDBOX_URL",
            "APPLE_SERVER_API_PRODUCTION_URL",
            "APPLE_SERVER_API_SANDBOX_URL",
        ] {
            settings[name] = "http://127.0.0.1:1"
        }
        if let window = history.world["window"] { settings["MAX_IN_FLIGHT"] = "\(window)" }
        return settings
    }
}
