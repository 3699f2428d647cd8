import Testing

@testable import ReceiptdConfiguration

/// Returns the faults of a catalog file; empty if the file is sound.
func catalogFaults(_ text: String) -> [CatalogFault] {
    do throws(CatalogFaults) {
        _ = try CatalogFile.parse(text, version: 1)
        return []
    } catch {
        return error.faults
    }
}

struct CatalogFaultTests {
    /// Faulty lines of an app, each with words of its fault's message.
    static let badApps: [(String, String)] = [
        ("app_apple_id: 0", "app_apple_id"), ("app_apple_id: -5", "app_apple_id"),
        ("app_apple_id: \"5\"", "app_apple_id"),
        ("app_apple_id: 9223372036854775808", "app_apple_id"), ("app_apple_id: 010", "app_apple_id"),
        ("app_apple_id: 1.5", "app_apple_id"), ("app_apple_id:", "no value"), ("app_apple_id: [1]", "one value"),
        ("shared_secret_setting: lower", "name of a setting"), ("shared_secret_setting: 1A", "name of a setting"),
        ("shared_secret_setting: DATABASE_URL", "DATABASE_URL"), ("shared_secret_setting: A_FILE", "_FILE"),
        ("server_api: { key_id: k, private_key_setting: K }", "issuer_id"), ("server_api: text", "mapping"),
        ("server_api: { issuer_id: i, key_id: k }", "private_key_setting"),
        ("server_api: { issuer_id: i, key_id: k, private_key_setting: K, more: 1 }", "more"),
        ("verification: maybe", "apple, local"), ("account_token: maybe", "compare, require"),
        ("family_shared: true", "reject, accept"), ("sandbox: allowlist", "mapping"),
        ("sandbox: { policy: all }", "reject, allowlist, accept"), ("sandbox: { policy: allowlist }", "players"),
        ("sandbox: { policy: allowlist, players: [] }", "players"),
        ("sandbox: { policy: allowlist, players: p }", "list"),
        ("sandbox: { policy: accept, players: [p] }", "players"), ("sandbox: { players: [p] }", "players"),
        ("sandbox: { policy: allowlist, players: [[p]] }", "one value"),
        ("sandbox: { policy: allowlist, players: [\"\"] }", "1 to 128"),
        ("cutover: 2026-11-01", "RFC 3339"), ("cutover: 2026-11-01T00:00:00", "RFC 3339"),
        ("cutover: soon", "RFC 3339"),
        ("cutover: 2026-02-30T00:00:00Z", "RFC 3339"), ("currencies: [EURO]", "three letters"),
        ("currencies: [E1R]", "three"),
        ("currencies: [ÄÖÜ]", "three letters"), ("currencies: []", "at least one"), ("currencies: USD", "list"),
        ("currencies:", "list"), ("risk: { many_accounts: 0 }", "many_accounts"), ("risk: { many: 1 }", "many"),
        ("risk: []", "mapping"), ("colour: red", "colour"), ("bundle_id: again", "repeats the key"),
        ("<<: { a: b }", "merge keys"),
        ("cutover: &a 2026-11-01T00:00:00Z", "anchors"), ("verification: !!str apple", "tags"),
        ("? [a]\n    : b", "plain text"),
    ]

    @Test(
        "if a line of an app in a catalog is faulty, the parser reports one fault, with the line and the cause",
        arguments: badApps)
    func badApp(line: String, message: String) {
        let faults = catalogFaults("apps:\n  - bundle_id: a\n    products: []\n    \(line)\n")
        #expect(faults.count == 1 && faults.first?.line == 4, "\(faults)")
        #expect(faults.first?.message.contains(message) == true, "\(faults)")
    }

    static let badProducts: [(String, String)] = [
        ("daily_limit: 0", "daily_limit"), ("daily_limit: -1", "daily_limit"), ("daily_limit: many", "daily_limit"),
        ("kind: gems", "consumable, non_consumable, non_renewing_subscription, auto_renewable_subscription"),
        ("status: sold", "active, retired"), ("on_retired: keep", "hold, grant, reject"), ("payload: 5", "mapping"),
        ("payload: [1]", "mapping"), ("payload: { a: .inf }", "no number"), ("payload: { a: -.INF }", "no number"),
        ("payload: { a: .nan }", "no number"), ("payload: { a: 1e999 }", "no number"),
        ("payload: { a: \"\\0\" }", "NUL"),
        ("payload: { \"\\0\": a }", "NUL"), ("payload: { a: 010 }", "another number"),
        ("payload: { a: 0x1F }", "another number"),
        ("payload: { a: 1_000 }", "another number"), ("payload: { a: 0o17 }", "another number"),
        ("payload: { a: 1, a: 2 }", "repeats the key"), ("payload: { a: *b }", "document"), ("colour: red", "colour"),
        ("payload: " + String(repeating: "{ a: ", count: 33) + "1" + String(repeating: " }", count: 33), "32 levels"),
        ("payload: { a: " + String(repeating: "x", count: 65_536) + " }", "65536 bytes"),
    ]

    @Test(
        "if a line of a product in a catalog is faulty, the parser reports one fault, with the line and the cause",
        arguments: badProducts)
    func badProduct(line: String, message: String) {
        let kind = line.hasPrefix("kind") ? "" : "kind: consumable, "
        let text = "apps:\n  - bundle_id: a\n    products:\n      - { \(kind)product_id: p,\n          \(line) }\n"
        let faults = catalogFaults(text)
        #expect(faults.count == 1 && faults.first?.line == 5, "\(faults)")
        #expect(faults.first?.message.contains(message) == true, "\(faults)")
    }

    @Test("if a catalog has several faults, the parser reports all of them together, in the file's order")
    func together() {
        let text = """
            apps:
              - bundle_id: a
                colour: red
                products:
                  - product_id: p
                    kind: consumable
                    kind: gems
                  - product_id: p
                    kind: jewels
                  - kind: consumable
                  - product_id: q
                currencies: [USD]
                currencies: [EUR]
              - bundle_id: a
                "bundle_id": b
                products: []
              - text
            version: 2
            """
        let faults = catalogFaults(text)
        #expect(faults.map(\.line) == [3, 7, 8, 9, 10, 11, 13, 14, 15, 17, 18])
        let places = faults.map { "\($0.line):\($0.column)" }
        #expect(places[1] == "7:9" && places[6] == "13:5" && places[8] == "15:5" && places[10] == "18:1")
        #expect(CatalogFaults(faults: faults).description.hasPrefix("line 3, column 5: an app has no key \"colour\""))
    }

    @Test("if a catalog has more than 100 faults, the error text lists the first 100 and counts the rest")
    func manyFaults() {
        let faults = CatalogFaults(
            faults: (1...1234).map { CatalogFault(TextPosition(line: $0, column: 1), "wrong") })
        let lines = faults.lines(of: "catalog.yaml")
        #expect(lines.count == 101)
        #expect(lines[99] == "catalog.yaml: line 100, column 1: wrong" && lines[100] == "catalog.yaml: and 1134 more")
        #expect(faults.description.hasSuffix("\nand 1134 more"))
        let few = CatalogFaults(faults: Array(faults.faults.prefix(100)))
        #expect(few.lines(of: nil).count == 100 && few.lines(of: nil).last == "line 100, column 1: wrong")
    }
}
