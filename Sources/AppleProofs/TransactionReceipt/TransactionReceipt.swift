import Encodings
import Fulfillment
import NamesAndTimes

/// An iOS 6 receipt: a property list whose `purchase-info` is another property list in base64. The inner list has the
/// receipt's only purchase.
struct TransactionReceipt {
    let purchaseInfo: [UInt8]
    let signature: [UInt8]?
    let bundleID: BundleID?
    let appAppleID: Int64?
    let environment: StoreEnvironment?
    let purchase: StorePurchase
    /// True if a field on which verdicts depend is present but unreadable. Apple can read the field.
    let hasUnreadableFields: Bool

    enum Fault: String, Error {
        case notAPropertyList = "not a property list of a receipt"
        case noPurchaseInfo = "the receipt has no readable purchase-info"
        case noSigner = "the receipt has no signature"
        case noPurchase = "the receipt names no purchase"
    }

    init(_ bytes: [UInt8]) throws(Fault) {
        guard let outer = PropertyList(bytes) else { throw .notAPropertyList }
        guard let encoded = outer["purchase-info"], let info = Base64.decode(encoded.utf8),
            let fields = PropertyList(info)
        else { throw .noPurchaseInfo }
        guard let signature = outer["signature"], !signature.isEmpty else { throw .noSigner }
        guard let purchase = StorePurchase(purchaseInfo: fields) else { throw .noPurchase }
        purchaseInfo = info
        self.signature = Base64.decode(signature.utf8)
        bundleID = fields["bid"].flatMap { ReceiptText.identifier($0) }
        appAppleID = fields["app-item-id"].flatMap { Int64($0) }
        environment = outer["environment"] == StoreEnvironment.sandbox.rawValue ? .sandbox : nil
        self.purchase = purchase
        hasUnreadableFields =
            (fields["app-item-id"] ?? "").isEmpty != (appAppleID == nil)
            || (fields["original-transaction-id"] ?? "").isEmpty
                != (fields["original-transaction-id"].flatMap { TransactionIDText.read($0) } == nil)
            || !purchase.unreadable.isEmpty || fields.isTold(StorePurchase.expiryKeys) && purchase.expiresAt == nil
            || fields.isTold(StorePurchase.cancellationKeys) && purchase.cancelledAt == nil
    }
}

extension StorePurchase {
    /// Returns nil if the transaction or the product is missing or unreadable. If the quantity or the purchase time is
    /// unreadable, `unreadable` has the field's name from Apple's answer, and the property has a meaningless value.
    fileprivate init?(purchaseInfo fields: PropertyList) {
        guard let transactionID = fields["transaction-id"].flatMap({ TransactionIDText.read($0) }),
            let productID = fields["product-id"].flatMap({ ReceiptText.identifier($0) })
        else { return nil }
        let quantity = Int32(fields["quantity"] ?? "1").flatMap { $0 >= 1 ? $0 : nil }
        let purchasedAt = fields.date("purchase-date-ms", orText: "purchase-date")
        let original = fields["original-transaction-id"].flatMap { TransactionIDText.read($0) }
        self.init(
            transactionID: transactionID, originalTransactionID: original ?? transactionID, productID: productID,
            quantity: quantity ?? 1, purchasedAt: purchasedAt ?? Timestamp(milliseconds: 0),
            expiresAt: fields.date(Self.expiryKeys[0], orText: Self.expiryKeys[1]),
            cancelledAt: fields.date(Self.cancellationKeys[0], orText: Self.cancellationKeys[1]))
        unreadable = (quantity == nil ? ["quantity"] : []) + (purchasedAt == nil ? ["purchase_date_ms"] : [])
        webOrderLineItemID = fields["web-order-line-item-id"].flatMap { ReceiptText.identifier($0) }
        if isRestoredCopy {
            originalPurchasedAt = fields.date("original-purchase-date-ms", orText: "original-purchase-date")
        }
    }

    fileprivate static let expiryKeys = ["expires-date", "expires-date-formatted"]
    fileprivate static let cancellationKeys = ["cancellation-date-ms", "cancellation-date"]
}

extension PropertyList {
    fileprivate func isTold(_ keys: [String]) -> Bool { keys.contains { !(self[$0] ?? "").isEmpty } }

    /// Returns the date from milliseconds since 1970 under `key`, or from text such as `2013-05-01 08:00:00 Etc/GMT`
    /// under `textKey`.
    fileprivate func date(_ key: String, orText textKey: String) -> Timestamp? {
        if let milliseconds = self[key].flatMap({ Int64($0) }) { return Timestamp(milliseconds: milliseconds) }
        guard let text = self[textKey] ?? self[key], text.hasSuffix(Self.greenwich) else { return nil }
        return Timestamp(rfc3339: text.dropLast(Self.greenwich.count) + "Z")
    }

    private static let greenwich = " Etc/GMT"
}
