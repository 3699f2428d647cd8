import Encodings
import Fulfillment
import NamesAndTimes

/// The fields of one transaction from one place in Apple's answer. Several places may describe one transaction, each
/// with fields that the other places lack.
struct PurchaseFields {
    let transactionID: StoreTransactionID
    /// The original transaction's id, and the time of the first purchase. The time is nil if it is absent or
    /// unreadable, or if the transaction is its own original.
    var original: (id: StoreTransactionID?, purchasedAt: Timestamp?)
    let productID: ProductID
    var quantity: Int32?
    let purchasedAt: Timestamp
    var expiresAt: Timestamp?
    var cancelledAt: Timestamp?
    var ownership: Ownership?
    var isUpgraded: Bool
    var appAccountToken: String?
    var subscriptionGroupID: String?
    /// Apple's `web_order_line_item_id` of a period; nil if there is none.
    var webOrderLineItemID: Identifier?
    /// True if the period is a free trial.
    var isTrial: Bool
    /// True if the purchase has fields of a subscription, so that later periods may follow.
    var mayRenew: Bool
    /// Keeps the names of unreadable fields.
    private var reader = FieldReader()

    /// The result of reading an element of `in_app` or `latest_receipt_info`, or of an iOS 6 transaction.
    enum Reading {
        case purchase(PurchaseFields)
        /// receiptd cannot read the purchase's ids or product.
        case nameless(NamelessPurchase)
    }

    static func read(_ fields: JSONValue) -> Reading {
        func nameless(_ field: String) -> Reading {
            .nameless(
                NamelessPurchase(
                    transactionID: fields.shownText("transaction_id"), productID: fields.shownText("product_id"),
                    field: field))
        }
        guard case .value(let transactionID) = fields.transactionID("transaction_id") else {
            return nameless("transaction_id")
        }
        if case .unreadable = fields.transactionID("original_transaction_id") {
            return nameless("original_transaction_id")
        }
        guard case .value(let productID) = fields.identifier("product_id") else { return nameless("product_id") }
        return .purchase(PurchaseFields(transactionID, productID, fields))
    }

    private init(_ transactionID: StoreTransactionID, _ productID: ProductID, _ fields: JSONValue) {
        var reader = FieldReader()
        self.transactionID = transactionID
        self.productID = productID
        let purchasedAt = reader("purchase_date_ms", fields.date("purchase_date_ms", "purchase_date"))
        // Every purchase has a time, so an absent time counts as unreadable.
        if purchasedAt == nil { reader.note("purchase_date_ms") }
        self.purchasedAt = purchasedAt ?? Timestamp(milliseconds: 0)
        original = (fields.transactionID("original_transaction_id").told, nil)
        if let id = original.id, id != transactionID {
            // If the original's time is unreadable, the rules use the purchase's own time. So an unreadable time counts
            // as absent.
            original.purchasedAt = fields.date("original_purchase_date_ms", "original_purchase_date").told
        }
        quantity = reader("quantity", fields.quantity("quantity"))
        // An iOS 6 receipt has milliseconds in `expires_date`, and the date as text in `expires_date_formatted`.
        expiresAt = reader(
            "expires_date_ms", fields.date("expires_date_ms", "expires_date", "expires_date_formatted"))
        cancelledAt = reader("cancellation_date_ms", fields.date("cancellation_date_ms", "cancellation_date"))
        ownership = reader("in_app_ownership_type", fields.text("in_app_ownership_type"))
            .map(Ownership.init(claim:))
        isUpgraded = reader("is_upgraded", fields.flag("is_upgraded")) ?? false
        appAccountToken = reader("app_account_token", fields.accountToken("app_account_token"))?.text
        // No rule reads the next two fields, so an unreadable value counts as absent.
        subscriptionGroupID = fields.identifier("subscription_group_identifier").told?.text
        isTrial = fields.flag("is_trial_period").told ?? false
        // If the id is unreadable, receiptd identifies the period by its times.
        webOrderLineItemID = fields.identifier("web_order_line_item_id").told
        mayRenew = expiresAt != nil || fields.told("web_order_line_item_id") != nil
        self.reader = reader
    }

    /// Adds the transaction's fields from another place, whose values are newer. If the places differ about the product
    /// or the quantity, which cannot change, that field counts as unreadable.
    mutating func merge(_ later: PurchaseFields) {
        for name in later.reader.unreadable { reader.note(name) }
        if productID != later.productID { reader.note("product_id") }
        if (quantity ?? 1) != (later.quantity ?? 1) { reader.note("quantity") }
        quantity = later.quantity ?? quantity
        original = (original.id ?? later.original.id, original.purchasedAt ?? later.original.purchasedAt)
        expiresAt = later.expiresAt ?? expiresAt
        cancelledAt = cancelledAt ?? later.cancelledAt
        ownership = Self.stricter(ownership, later.ownership)
        isUpgraded = isUpgraded || later.isUpgraded
        appAccountToken = later.appAccountToken ?? appAccountToken
        subscriptionGroupID = later.subscriptionGroupID ?? subscriptionGroupID
        webOrderLineItemID = webOrderLineItemID ?? later.webOrderLineItemID
        isTrial = isTrial || later.isTrial
        mayRenew = mayRenew || later.mayRenew
    }

    /// - Parameter unreadable: the names of unreadable fields of the whole answer.
    func purchase(by account: AppTransactionID?, besides unreadable: [String]) -> StorePurchase {
        var purchase = StorePurchase(
            transactionID: transactionID, originalTransactionID: original.id ?? transactionID,
            productID: productID, quantity: quantity ?? 1, purchasedAt: purchasedAt, expiresAt: expiresAt,
            cancelledAt: cancelledAt, appAccountToken: appAccountToken, appTransactionID: account)
        purchase.ownership = ownership ?? .purchased
        purchase.isUpgraded = isUpgraded
        purchase.subscriptionGroupID = subscriptionGroupID
        purchase.webOrderLineItemID = webOrderLineItemID
        if purchase.isRestoredCopy { purchase.originalPurchasedAt = original.purchasedAt }
        purchase.unreadable = reader.unreadable + unreadable
        if isTrial { purchase.told = PurchaseFacts(isTrial: true) }
        return purchase
    }

    /// Returns the stricter of two ownerships: family-shared before other, and other before purchased.
    private static func stricter(_ one: Ownership?, _ other: Ownership?) -> Ownership? {
        for ownership in [Ownership.familyShared, .other] where one == ownership || other == ownership {
            return ownership
        }
        return one ?? other
    }
}
