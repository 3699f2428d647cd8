import Fulfillment
import NamesAndTimes

extension CatalogReader {
    mutating func product(_ node: YAMLNode, seen lines: inout [ProductID: Int]) -> Product? {
        guard var fields = fields(of: node, called: "a product") else { return nil }
        let identity = required("product_id", in: &fields)
        let productID = identity.flatMap { text($0, called: "product_id", maximum: CatalogLimits.nameLength) }
        var product = Product(id: Identifier(productID ?? ""), kind: .consumable)
        if let identity, productID != nil {
            if let line = lines[product.id] {
                fail(identity.position, "the product \(ShownText.quoted(product.id.text)) is in line \(line) already")
            } else {
                lines[product.id] = identity.position.line
            }
        }
        if !fields.has("kind") { fail(node.position, "`kind` is missing") }
        choose("kind", in: &fields, into: &product.kind, ProductKind.allCases.named)
        choose("status", in: &fields, into: &product.isRetired, [("active", false), ("retired", true)])
        choose("on_retired", in: &fields, into: &product.onRetired, Product.RetiredAction.allCases.named)
        if let node = fields.take("daily_limit") {
            product.dailyLimit = integer(node, called: "daily_limit", in: CatalogLimits.dailyLimit).map(Int.init)
        }
        if let position = fields.entries.first(where: { $0.name == "late_periods" })?.position {
            choose("late_periods", in: &fields, into: &product.grantsLatePeriods, [("reject", false), ("grant", true)])
            if product.grantsLatePeriods, product.kind != .autoRenewableSubscription {
                fail(position, "`late_periods: grant` is only for `kind: auto_renewable_subscription`")
            }
        }
        if let node = fields.take("payload") { product.payload = payload(node) }
        finish(fields)
        return product
    }
}
