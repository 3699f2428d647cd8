import Encodings
import Fulfillment
import NamesAndTimes
import Testing

@testable import ReceiptdConfiguration

struct CatalogFileTests {
    static let example = """
        apps:
          - bundle_id: com.lucky917.ios.Live
            app_apple_id: 1149703708            # adam_id; optional, compared when given
            shared_secret_setting: LUCKY917_SHARED_SECRET   # names the setting that holds it; optional
            server_api:                         # optional: App Store Server API credentials
              issuer_id: 57246542-96fe-1a63-e053-0824d011072a
              key_id: 2X9R4HXF34
              private_key_setting: LUCKY917_API_KEY
            verification: apple
            sandbox: { policy: allowlist, players: [reviewer-1] }
            account_token: compare
            cutover: 2026-11-01T00:00:00Z
            family_shared: reject
            currencies: [CNY, USD]
            risk: { shared_device_players: 5, many_accounts: 5, small_purchases_per_day: 20 }
            products:
              - product_id: com.lucky917.live.gold.1.555
                kind: consumable
                status: active
                on_retired: hold
                daily_limit: 6
                payload: { gold: 555 }
        """

    @Test("the catalog parser reads every value of the documented example")
    func documented() throws {
        var app = AppPolicy(bundleID: "com.lucky917.ios.Live")
        app.appAppleID = 1_149_703_708
        app.sharedSecretSetting = "LUCKY917_SHARED_SECRET"
        app.serverAPI = ServerAPICredentials(
            issuerID: "57246542-96fe-1a63-e053-0824d011072a", keyID: "2X9R4HXF34", privateKeySetting: "LUCKY917_API_KEY"
        )
        app.sandbox = .allowlist(["reviewer-1"])
        app.cutover = Timestamp(rfc3339: "2026-11-01T00:00:00Z")
        app.currencies = ["CNY", "USD"]
        var product = Product(id: "com.lucky917.live.gold.1.555", kind: .consumable)
        product.dailyLimit = 6
        product.payload = #"{"gold":555}"#
        app.products[product.id] = product
        #expect(try CatalogFile.parse(Self.example, version: 7) == Catalog(version: 7, apps: [app]))
        #expect(try CatalogFile.parse(Self.example.replacing("\n", with: "\r\n"), version: 7).apps.count == 1)
    }

    @Test("if an app or a product in a catalog omits keys, the parser sets the documented defaults")
    func defaults() throws {
        let text = "apps: [{ bundle_id: a, products: [{ product_id: p, kind: non_consumable }] }]"
        let app = try #require(try CatalogFile.parse(text, version: 1).apps["a"])
        var expected = AppPolicy(bundleID: "a")
        expected.products = ["p": Product(id: "p", kind: .nonConsumable)]
        #expect(app == expected)
        #expect(app.risk == RiskThresholds() && app.sandbox == .reject && app.verification == .apple)
    }

    @Test("the catalog parser reads documented values that differ from the defaults")
    func others() throws {
        let text = """
            apps:
              - bundle_id: a
                verification: local
                sandbox: { policy: accept }
                account_token: require
                cutover: "2026-11-01T08:00:00.5+08:00"
                family_shared: accept
                currencies: [cny]
                risk: { many_accounts: 2 }
                products:
                  - { product_id: 1, kind: auto_renewable_subscription, status: retired, on_retired: reject }
                  - { product_id: 2, kind: non_renewing_subscription, status: retired, on_retired: grant }
              - bundle_id: b
                sandbox: { policy: allowlist, players: [123, 0x7, "yes", no, null-1] }
                products: []
            """
        let catalog = try CatalogFile.parse(text, version: 1)
        let app = try #require(catalog.apps["a"])
        #expect(app.verification == .local && app.sandbox == .accept && app.accountToken == .require)
        #expect(app.cutover == Timestamp(milliseconds: 1_793_491_200_500) && app.acceptsFamilyShared)
        #expect(app.currencies == ["CNY"] && app.risk.manyAccounts == 2 && app.risk.sharedDevicePlayers == 5)
        #expect(app.products["1"]?.isRetired == true && app.products["1"]?.onRetired == .reject)
        #expect(app.products["1"]?.kind == .autoRenewableSubscription && app.products["2"]?.onRetired == .grant)
        #expect(catalog.apps["b"]?.sandbox == .allowlist(["123", "0x7", "yes", "no", "null-1"]))
    }

    @Test("if one line of a catalog has several faults, each fault names its own column")
    func repeatedInFlow() {
        let faults = catalogFaults("apps: [{ bundle_id: a, bundle_id: b, bundle_id: c, products: [], colour: red }]")
        #expect(faults.map(\.column) == [24, 38, 66])
    }

    @Test("if forty apps in a catalog repeat the key `products`, the parser reports faults, and each names the key")
    func manyRepeated() {
        let text = "apps:\n" + (0..<40).map { "  - { bundle_id: a\($0), products: [], products: [] }\n" }.joined()
        let faults = catalogFaults(text)
        #expect(!faults.isEmpty && faults.allSatisfy { $0.message.contains("products") })
        #expect(!catalogFaults("? &a [x]\n: 1\n? [x]\n: 2\napps: []").isEmpty)
        #expect(catalogFaults("\u{E000}a: 1\na: 1\na: 2").map(\.line) == [2])
    }

    @Test(
        "if a text is no catalog, the catalog parser reports exactly one fault",
        arguments: [
            "", "\n", "# nothing", "a", "[]", "apps", "apps:", "apps: {}", "apps: []", "{}", "apps: [", "a: b: c",
            "\u{1}",
            "apps: []\n---\napps: []", "\tapps: []", "a",
        ])
    func noCatalog(text: String) {
        #expect(catalogFaults(text).count == 1)
    }

    @Test("the catalog parser reports a fault for a file that is too large or missing, and for an id that is too long")
    func limits() throws {
        let faults = catalogFaults("apps: #" + String(repeating: "x", count: CatalogLimits.fileSize))
        #expect(faults.map(\.message) == ["the file is larger than 16777216 bytes"])
        #expect(throws: CatalogFaults.self) { try CatalogFile.load("/nowhere/catalog.yaml") }
        let name = String(repeating: "n", count: 256)
        #expect(
            catalogFaults("apps: [{ bundle_id: \(name), products: [{ product_id: \(name), kind: consumable }] }]").count
                == 2)
    }

    @Test("the catalog parser reports faults for deep nesting and for YAML aliases, without a crash")
    func bombs() {
        #expect(!catalogFaults(String(repeating: "[", count: 200_000)).isEmpty)
        #expect(!catalogFaults(String(repeating: "{a: ", count: 200_000)).isEmpty)
        #expect(
            !catalogFaults("apps: " + String(repeating: "[", count: 500) + String(repeating: "]", count: 500)).isEmpty)
        var laughs = "a0: &a0 [x, x]\n"
        for level in 1..<60 { laughs += "a\(level): &a\(level) [*a\(level - 1), *a\(level - 1)]\n" }
        #expect(catalogFaults(laughs + "? *a59\n: 1\n").count == 1)
        let few = "apps: &a\n  - bundle_id: a\n    products: []\nmore: *a\n"
        #expect(catalogFaults(few).map(\.line) == [1, 4])
        #expect(catalogFaults(few).first?.message.contains("anchors") == true)
    }

    @Test("the catalog parser keeps the order of a payload's members, the digits of its numbers, and its types")
    func payload() throws {
        let text = """
            apps:
              - bundle_id: a
                products:
                  - product_id: p
                    kind: consumable
                    payload:
                      z: 1
                      a: 123456789012345678901234567890
                      list: [1.50, -0, +7, .5, "1", 1e3, 2.E-1]
                      words: [yes, no, on, off, true, false, null, ~, "true", 2026-11-01, 12:30:00, 1.2.3, x_1, Infinity]
                      empty:
                      nested: { "quote\\"": 'single', 5: "\\u00e9\\n" }
                      block: |
                        # one
                        two
            """
        let payload = try #require(try CatalogFile.parse(text, version: 1).apps["a"]?.products["p"]?.payload)
        let expected =
            #"{"z":1,"a":123456789012345678901234567890,"list":[1.50,-0,7,0.5,"1",1e3,2.0E-1],"#
            + #""words":["yes","no","on","off",true,false,null,null,"true","2026-11-01","12:30:00","1.2.3","x_1","Infinity"],"#
            + ##""empty":null,"nested":{"quote\"":"single","5":"é\n"},"block":"# one\ntwo"}"##
        #expect(payload == expected)
        #expect(throws: Never.self) { try JSONParser.parse(Array(payload.utf8)) }
    }

    @Test("if a catalog has a secret in place of a setting's name, the fault does not show the secret")
    func secrets() {
        let faults = catalogFaults(
            """
            apps:
              - bundle_id: a
                shared_secret_setting: 0123hush4567
                server_api: { issuer_id: i, key_id: k, private_key_setting: "-----BEGIN hush" }
                products: []
            """)
        #expect(faults.map(\.line) == [3, 4])
        #expect(!CatalogFaults(faults: faults).description.contains("hush"))
    }

    @Test("the catalog parser reads a catalog of ten thousand products")
    func large() throws {
        var text = "apps:\n  - bundle_id: a\n    products:\n"
        for index in 0..<10_000 {
            text +=
                "      - product_id: com.example.p\(index)\n        kind: consumable\n        payload: { gold: \(index) }\n"
        }
        let catalog = try CatalogFile.parse(text, version: 1)
        #expect(catalog.apps["a"]?.products.count == 10_000)
        #expect(catalog.apps["a"]?.products["com.example.p9999"]?.payload == #"{"gold":9999}"#)
        #expect(try CatalogFile.parse(text, version: 1) == catalog)
    }
}
