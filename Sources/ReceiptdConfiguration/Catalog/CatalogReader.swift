import Fulfillment
import NamesAndTimes

/// Turns a YAML tree into a catalog. Collects each fault, and continues with the default in place of the faulty value.
struct CatalogReader {
    private(set) var faults: [CatalogFault]

    init(_ faults: [CatalogFault]) {
        self.faults = faults
    }

    mutating func fail(_ position: TextPosition, _ message: String) {
        faults.append(CatalogFault(position, message))
    }

    mutating func catalog(_ root: YAMLNode) -> [AppPolicy] {
        guard var fields = fields(of: root, called: "the catalog") else { return [] }
        var apps: [AppPolicy] = []
        var lines: [BundleID: Int] = [:]
        if let list = required("apps", in: &fields).flatMap({ elements(of: $0, called: "apps") }) {
            if list.isEmpty { fail(root.position, "`apps` must hold at least one app") }
            for node in list {
                guard let app = app(node, seen: &lines) else { continue }
                apps.append(app)
            }
        }
        finish(fields)
        return apps
    }

    private mutating func app(_ node: YAMLNode, seen lines: inout [BundleID: Int]) -> AppPolicy? {
        guard var fields = fields(of: node, called: "an app") else { return nil }
        let bundle = required("bundle_id", in: &fields)
        let bundleID = bundle.flatMap { text($0, called: "bundle_id", maximum: CatalogLimits.nameLength) }
        var app = AppPolicy(bundleID: Identifier(bundleID ?? ""))
        if let bundle, bundleID != nil {
            if let line = lines[app.bundleID] {
                fail(bundle.position, "the app \(ShownText.quoted(app.bundleID.text)) is in line \(line) already")
            } else {
                lines[app.bundleID] = bundle.position.line
            }
        }
        credentials(of: &app, in: &fields)
        policies(of: &app, in: &fields)
        announcements(of: &app, in: &fields)
        if let list = required("products", in: &fields).flatMap({ elements(of: $0, called: "products") }) {
            var productLines: [ProductID: Int] = [:]
            productLines.reserveCapacity(list.count)
            for node in list {
                guard let product = product(node, seen: &productLines) else { continue }
                app.products[product.id] = product
            }
        }
        finish(fields)
        return app
    }

    private mutating func credentials(of app: inout AppPolicy, in fields: inout CatalogFields) {
        if let node = fields.take("app_apple_id") {
            app.appAppleID = integer(node, called: "app_apple_id", in: CatalogLimits.appAppleID)
        }
        if let node = fields.take("shared_secret_setting") {
            app.sharedSecretSetting = settingName(node, called: "shared_secret_setting")
        }
        if let node = fields.take("server_api"), var inner = self.fields(of: node, called: "server_api") {
            let issuer = requiredText("issuer_id", in: &inner)
            let key = requiredText("key_id", in: &inner)
            let setting = required("private_key_setting", in: &inner)
                .flatMap { settingName($0, called: "private_key_setting") }
            if let issuer, let key, let setting {
                app.serverAPI = ServerAPICredentials(issuerID: issuer, keyID: key, privateKeySetting: setting)
            }
            choose(
                "notification_history", in: &inner, into: &app.announcements.readsNotificationHistory,
                CatalogReader.onOff)
            finish(inner)
        }
    }

    private mutating func requiredText(_ name: String, in fields: inout CatalogFields) -> String? {
        required(name, in: &fields).flatMap { text($0, called: name, maximum: CatalogLimits.nameLength) }
    }
}
