import Encodings
import Foundation
import Fulfillment
import NamesAndTimes
import ReceiptdConfiguration

extension FuzzTarget {
    /// The catalog file; the settings file is the same YAML.
    static let catalog = FuzzTarget(
        name: "catalog",
        seeds: {
            [Array(try SeedFiles.text("catalog.yaml").utf8.prefix(6000))]
                + [
                    "apps:\n  - bundle_id: b\n    products:\n      - {product_id: p, kind: consumable, payload: {a: 0x1F, b: [1, .5, ~]}}\n",
                    "a: &x [1]\nb: *x\n", "? [a]\n: b\n", "a: 1\na: 2\n", "<<: {a: b}\n", "!!int 3", "{a: b, \"a\": c}",
                    "a: |\n  text\n  more\n",
                    "- - - - -\n", "--- a\n...\n--- b\n", "%YAML 1.1\n---\na: 'b'\n",
                ].map { Array($0.utf8) }
        },
        check: { bytes in
            guard let text = String(validating: bytes, as: UTF8.self) else { return }
            let first = Result { () throws(CatalogFaults) in try CatalogFile.parse(text, version: 1) }
            switch first {
            case .success(let catalog):
                mustHold((try? CatalogFile.parse(text, version: 1)) == catalog, "the same text gives the same catalog")
                for app in catalog.apps.values {
                    mustHold(!app.bundleID.text.isEmpty, "every app has its id")
                    let payloads = app.products.values.compactMap(\.payload)
                    mustHold(
                        payloads.allSatisfy { (try? JSONParser.parse(Array($0.utf8))) != nil }, "every payload is JSON")
                }
            case .failure(let faults):
                mustHold(!faults.faults.isEmpty, "what is refused has its faults")
                mustHold(faults.faults.allSatisfy { $0.line >= 1 && $0.column >= 1 }, "every fault has its place")
            }
        },
        read: { _ = try? CatalogFile.parse(String(decoding: $0, as: UTF8.self), version: 1) },
        families: [
            .repeating("[", size: 1 << 16), .repeating("{a: ", size: 1 << 16), .repeating("- ", size: 1 << 16),
            .repeating("a: 1\n", size: 1 << 16),
            GrowthFamily(name: "different keys") { size in Array((0..<size / 10).map { "k\($0): 1\n" }.joined().utf8) },
            .repeating("? ", size: 1 << 16), .repeating("&a "), .repeating("*a "), .repeating("!a "),
            .repeating("\"a\" "),
            .repeating("#"), .repeating("a ", after: "a: "), .repeating("- a\n"), .repeating("\n"),
            .repeating("a", after: "a: \""),
            GrowthFamily(name: "products") { size in
                let products = (0..<size / 48).map { "      - {product_id: p\($0), kind: consumable}\n" }.joined()
                return Array("apps:\n  - bundle_id: b\n    products:\n\(products)".utf8)
            },
        ],
        words: [
            "apps:", "bundle_id:", "products:", "product_id:", "kind:", "payload:", "sandbox:", "policy:", "players:",
            "cutover:", "risk:",
            "currencies:", "daily_limit:", "server_api:", "shared_secret_setting:", "\n  - ", "&a", "*a", "!!", "<<: ",
            "? ", "|\n", ">-\n", "---\n",
        ])

    static let kafkaProperties = FuzzTarget(
        name: "kafka-properties",
        seeds: { ["a=b;c=d", " a = b ; ; a=c;=;d", "sasl.password=x=y;", ""].map { Array($0.utf8) } },
        check: { bytes in
            let list = KafkaPropertyList(String(decoding: bytes, as: UTF8.self))
            mustHold(
                list.pairs.allSatisfy {
                    !$0.name.isEmpty && !$0.name.utf8.contains(0x3D) && !$0.name.utf8.contains(0x3B)
                }, "every property has its name")
            mustHold(Set(list.pairs.map(\.name)).count == list.pairs.count, "no property is there twice")
        },
        families: [
            .repeating(";"), .repeating("="), .repeating(" ;"), .repeating("a=b;"),
            GrowthFamily(name: "different names") { size in Array((0..<size / 10).map { "n\($0)=v;" }.joined().utf8) },
        ],
        words: ["=", ";", "a=b;"])
}
