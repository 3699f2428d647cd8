import Fulfillment
import NamesAndTimes

/// One purchase of an app receipt: attribute 17.
struct ReceiptPurchase {
    let purchase: StorePurchase
    let kind: ProductKind?
    let isAutoRenewable: Bool

    /// Returns nil if the transaction, product or time is missing, or if a field has an impossible value.
    init?(_ bytes: [UInt8], in range: Range<Int>) {
        guard let fields = try? Fields(bytes, in: range), let transactionID = fields.transactionID,
            let productID = fields.productID, let purchasedAt = fields.purchasedAt, !fields.isImpossible
        else { return nil }
        kind = fields.kindCode.flatMap(ProductKind.init(receiptCode:))
        // A free subscription never ends. So if a purchase has the code of free subscriptions and an expiry date, it is
        // another kind of subscription, which may renew.
        let mayRenew = kind == nil || fields.kindCode == ProductKind.freeSubscriptionCode
        isAutoRenewable = kind == .autoRenewableSubscription || (mayRenew && fields.expiresAt != nil)
        var purchase = StorePurchase(
            transactionID: transactionID, originalTransactionID: fields.originalTransactionID ?? transactionID,
            productID: productID, quantity: fields.quantity, purchasedAt: purchasedAt, expiresAt: fields.expiresAt,
            cancelledAt: fields.cancelledAt)
        purchase.webOrderLineItemID = fields.webOrderLineItemID
        if purchase.isRestoredCopy { purchase.originalPurchasedAt = fields.originalPurchasedAt }
        self.purchase = purchase
    }

    private struct Fields {
        var transactionID: StoreTransactionID?
        var originalTransactionID: StoreTransactionID?
        var productID: ProductID?
        var quantity: Int32 = 1
        var kindCode: Int64?
        var purchasedAt: Timestamp?
        /// The time of the first purchase; nil if it is absent or unreadable, or if the transaction is its own
        /// original.
        var originalPurchasedAt: Timestamp?
        var expiresAt: Timestamp?
        var cancelledAt: Timestamp?
        var webOrderLineItemID: Identifier?
        /// True for a quantity below one, and for an unreadable original transaction or date. Then
        /// `ReceiptPurchase.init` returns nil, because it would be worse to treat the field as absent. An unreadable
        /// date of the first purchase does not count here: the rules then use the purchase's own date.
        var isImpossible = false

        init(_ bytes: [UInt8], in range: Range<Int>) throws(BERFault) {
            var attributes = try ReceiptAttributeReader(bytes, in: range)
            var originalDate: Range<Int>?
            while let (type, value) = try attributes.next() {
                switch type {
                case ReceiptAttribute.quantity: setQuantity(attributes.integer(value))
                case ReceiptAttribute.productID: productID = attributes.identifier(value)
                case ReceiptAttribute.transactionID: transactionID = attributes.transactionID(value)
                case ReceiptAttribute.originalTransactionID:
                    originalTransactionID = attributes.transactionID(value)
                    if originalTransactionID == nil, !attributes.isUnset(value) { isImpossible = true }
                case ReceiptAttribute.productKind: kindCode = attributes.integer(value)
                case ReceiptAttribute.purchaseDate: purchasedAt = date(value, attributes)
                case ReceiptAttribute.originalPurchaseDate: originalDate = value
                case ReceiptAttribute.expiryDate: expiresAt = date(value, attributes)
                case ReceiptAttribute.cancellationDate: cancelledAt = date(value, attributes)
                case ReceiptAttribute.webOrderLineItemID:
                    webOrderLineItemID = attributes.integer(value).map { Identifier(String($0)) }
                default: break
                }
            }
            if let originalDate, originalTransactionID != transactionID {
                originalPurchasedAt = attributes.text(originalDate).flatMap(Timestamp.init(rfc3339:))
            }
        }

        private mutating func setQuantity(_ value: Int64?) {
            if let value, let quantity = Int32(exactly: value), quantity >= 1 {
                self.quantity = quantity
            } else {
                isImpossible = true
            }
        }

        private mutating func date(_ value: Range<Int>, _ attributes: ReceiptAttributeReader) -> Timestamp? {
            guard !attributes.isUnset(value) else { return nil }
            let date = attributes.text(value).flatMap(Timestamp.init(rfc3339:))
            if date == nil { isImpossible = true }
            return date
        }
    }
}

extension ProductKind {
    /// The code of Newsstand's free subscriptions, which never end and which every device of the customer restores.
    fileprivate static let freeSubscriptionCode: Int64 = 4

    /// Reads attribute 1707, which Apple does not document.
    fileprivate init?(receiptCode: Int64) {
        switch receiptCode {
        case 0: self = .nonConsumable
        case 1: self = .consumable
        case 2: self = .nonRenewingSubscription
        case 3: self = .autoRenewableSubscription
        case Self.freeSubscriptionCode: self = .nonRenewingSubscription
        default: return nil
        }
    }
}
