import Fulfillment
import NamesAndTimes
import Testing

@testable import ReceiptdConfiguration

struct CatalogDifferenceTests {
    private func catalog(_ text: String) throws -> Catalog { try CatalogFile.parse(text, version: 1) }

    @Test("if there is no earlier catalog, the catalog difference lists every app as added")
    func first() throws {
        let difference = CatalogDifference(old: nil, new: try catalog(CatalogFileTests.example))
        #expect(difference.lines == ["+ app com.lucky917.ios.Live: 1 product"])
        #expect(difference.removedApps.isEmpty && !difference.isEmpty)
    }

    @Test("if two versions of a catalog have the same content, the catalog difference is empty")
    func same() throws {
        let old = try catalog(CatalogFileTests.example)
        let new = try CatalogFile.parse(CatalogFileTests.example, version: 2)
        #expect(CatalogDifference(old: old, new: new).isEmpty)
    }

    @Test("the catalog difference lists added, removed and changed apps and products, with each changed field")
    func changes() throws {
        let old = try catalog(
            """
            apps:
              - { bundle_id: gone, products: [] }
              - bundle_id: kept
                sandbox: { policy: accept }
                products:
                  - { product_id: a, kind: consumable, daily_limit: 6, payload: { gold: 1 } }
                  - { product_id: b, kind: consumable }
                  - { product_id: c, kind: consumable }
            """)
        let new = try catalog(
            """
            apps:
              - bundle_id: kept
                currencies: [USD, CNY]
                products:
                  - { product_id: a, kind: consumable, status: retired, payload: { gold: 2 } }
                  - { product_id: c, kind: consumable }
                  - { product_id: d, kind: non_consumable }
              - { bundle_id: new, products: [] }
            """)
        let difference = CatalogDifference(old: old, new: new)
        #expect(
            difference.lines == [
                "- app gone: 0 products",
                "~ app kept: sandbox accept → reject, currencies all → CNY USD",
                #"  ~ product a: status active → retired, daily_limit 6 → none, payload {\"gold\":1} → {\"gold\":2}"#,
                "  - product b: consumable",
                "  + product d: non_consumable",
                "+ app new: 0 products",
            ])
        #expect(difference.removedApps == ["gone"])
    }
}
