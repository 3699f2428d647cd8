import Fulfillment
import NamesAndTimes

/// The changes that an import makes to the present catalog.
package struct CatalogDifference: Sendable, Equatable {
    /// A line for people about each change, sorted by app and product. A line may name settings, and contains no
    /// secret.
    package private(set) var lines: [String] = []
    /// The apps that the new catalog lacks. The import removes them only if the operator allows it.
    package let removedApps: [BundleID]

    package var isEmpty: Bool { lines.isEmpty }

    /// - Parameter old: the catalog in use; nil before the first import.
    package init(old: Catalog?, new: Catalog) {
        let oldApps = old?.apps ?? [:]
        removedApps = oldApps.keys.filter { new.apps[$0] == nil }.sorted()
        for id in Set(oldApps.keys).union(new.apps.keys).sorted() {
            let name = ShownText.plain(id.text)
            switch (oldApps[id], new.apps[id]) {
            case (nil, let app?): lines.append("+ app \(name): \(Self.count(app.products.count))")
            case (let app?, nil): lines.append("- app \(name): \(Self.count(app.products.count))")
            case (let before?, let after?): compare(before, after, name: name)
            case (nil, nil): break
            }
        }
    }

    private mutating func compare(_ before: AppPolicy, _ after: AppPolicy, name: String) {
        guard before != after else { return }
        let changes = Self.changes(Self.fields(of: before), Self.fields(of: after))
        lines.append("~ app \(name)" + (changes.isEmpty ? "" : ": \(changes)"))
        for id in Set(before.products.keys).union(after.products.keys).sorted() {
            let product = ShownText.plain(id.text)
            switch (before.products[id], after.products[id]) {
            case (nil, let added?): lines.append("  + product \(product): \(added.kind.rawValue)")
            case (let removed?, nil): lines.append("  - product \(product): \(removed.kind.rawValue)")
            case (let old?, let new?) where old != new:
                lines.append("  ~ product \(product): \(Self.changes(Self.fields(of: old), Self.fields(of: new)))")
            default: break
            }
        }
    }

    private static func count(_ products: Int) -> String { products == 1 ? "1 product" : "\(products) products" }

    private typealias Field = (name: String, value: String)

    private static func changes(_ before: [Field], _ after: [Field]) -> String {
        zip(before, after).filter { $0.value != $1.value }
            .map { "\($0.name) \(ShownText.plain($0.value)) → \(ShownText.plain($1.value))" }
            .joined(separator: ", ")
    }

    private static let absent = "none"

    private static func fields(of app: AppPolicy) -> [Field] {
        let sandbox =
            switch app.sandbox {
            case .reject: "reject"
            case .accept: "accept"
            case .allowlist(let players): "allowlist (\(players.sorted().map(\.text).joined(separator: " ")))"
            }
        let serverAPI = app.serverAPI.map { "\($0.issuerID) \($0.keyID) \($0.privateKeySetting)" }
        let risk = app.risk
        return [
            ("app_apple_id", app.appAppleID.map(String.init) ?? absent),
            ("shared_secret_setting", app.sharedSecretSetting ?? absent),
            ("server_api", serverAPI ?? absent),
            ("verification", app.verification.rawValue),
            ("sandbox", sandbox),
            ("account_token", app.accountToken.rawValue),
            ("account_token_is", app.accountTokenIs.rawValue),
            ("cutover", app.cutover?.rfc3339 ?? absent),
            ("family_shared", app.acceptsFamilyShared ? "accept" : "reject"),
            ("currencies", app.currencies?.sorted().joined(separator: " ") ?? "all"),
            ("notification_history", onOff(app.serverAPI != nil && app.announcements.readsNotificationHistory)),
            ("missed_purchases", app.announcements.missedPurchases.rawValue),
            ("renewals", app.followsRenewals ? "follow" : "off"),
            ("local_refusals", app.announcements.asksBeforeRefusing ? "ask" : "trust"),
            ("refund_check", onOff(app.announcements.checksRefunds)),
            ("finish", app.announcements.finishesGrants ? "after_grant" : "off"),
            ("consumption", consumption(app.announcements.consumption)),
            ("risk", "\(risk.sharedDevicePlayers) \(risk.manyAccounts) \(risk.smallPurchasesPerDay)"),
        ]
    }

    private static func onOff(_ value: Bool) -> String { value ? "on" : "off" }

    private static func consumption(_ policy: ConsumptionPolicy?) -> String {
        guard let policy else { return absent }
        let sample = policy.providesSampleContent ? ", with sample content" : ""
        return (policy.refundPreference?.rawValue ?? "no preference") + sample
    }

    private static func fields(of product: Product) -> [Field] {
        [
            ("kind", product.kind.rawValue),
            ("status", product.isRetired ? "retired" : "active"),
            ("on_retired", product.onRetired.rawValue),
            ("daily_limit", product.dailyLimit.map(String.init) ?? absent),
            ("late_periods", product.grantsLatePeriods ? "grant" : "reject"),
            ("payload", product.payload ?? absent),
        ]
    }
}
