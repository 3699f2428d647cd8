import Encodings
import Fulfillment
import Identifiers
import Timestamps

/// One transaction as one place of Apple's answer has it. The same transaction can be in several places, each
/// with something that the others leave out.
struct PurchaseFields {
    let transactionID: StoreTransactionID
    var originalTransactionID: StoreTransactionID?
    let productID: ProductID
    var quantity: Int32?
    let purchasedAt: Timestamp
    var expiresAt: Timestamp?
    var cancelledAt: Timestamp?
    var ownership: Ownership?
    var isUpgraded: Bool
    var appAccountToken: String?
    var subscriptionGroupID: String?
    /// What Apple charged for a period.
    var webOrderLineItemID: Identifier?
    /// Nothing was paid for this period.
    var isTrial: Bool
    /// It has a subscription's marks, so that further periods may follow.
    var mayRenew: Bool

    /// Reads an element of `in_app` or `latest_receipt_info`, or an iOS 6 transaction.
    init(_ fields: JSONValue) throws(IncompleteAnswer) {
        guard case .object = fields,
            let transactionID = try fields.identifier("transaction_id").optional(),
            let productID = try fields.identifier("product_id").optional(),
            let purchasedAt = try fields.date("purchase_date_ms", "purchase_date").optional()
        else { throw IncompleteAnswer() }
        self.transactionID = transactionID
        self.productID = productID
        self.purchasedAt = purchasedAt
        originalTransactionID = try fields.identifier("original_transaction_id").optional()
        if let told = try fields.wholeNumber("quantity").optional() {
            guard told >= 1, let quantity = Int32(exactly: told) else { throw IncompleteAnswer() }
            self.quantity = quantity
        }
        // iOS 6 gives `expires_date` in milliseconds, and the date as text beside it.
        expiresAt = try fields.date("expires_date_ms", "expires_date", "expires_date_formatted").optional()
        cancelledAt = try fields.date("cancellation_date_ms", "cancellation_date").optional()
        ownership = try fields.text("in_app_ownership_type").optional().map(Ownership.init(claim:))
        isUpgraded = try fields.flag("is_upgraded").optional() ?? false
        if let token = try fields.text("app_account_token").optional().map(AccountToken.init(told:)) {
            guard token != .malformed else { throw IncompleteAnswer() }
            appAccountToken = token.text
        }
        // It decides nothing: what cannot be read counts as absent.
        subscriptionGroupID = fields.identifier("subscription_group_identifier").told?.text
        if case .value(true) = fields.flag("is_trial_period") { isTrial = true } else { isTrial = false }
        // Where it cannot be read a period is known by its times.
        webOrderLineItemID = fields.identifier("web_order_line_item_id").told
        mayRenew = expiresAt != nil || fields.told("web_order_line_item_id") != nil
    }

    /// Takes what another place says of the same transaction. Where both have a value, `later` is the fresher one.
    mutating func merge(_ later: PurchaseFields) throws(IncompleteAnswer) {
        guard productID == later.productID, (quantity ?? 1) == (later.quantity ?? 1) else { throw IncompleteAnswer() }
        quantity = later.quantity ?? quantity
        originalTransactionID = originalTransactionID ?? later.originalTransactionID
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

    func purchase(by account: AppTransactionID?) -> StorePurchase {
        var purchase = StorePurchase(
            transactionID: transactionID, originalTransactionID: originalTransactionID ?? transactionID,
            productID: productID, quantity: quantity ?? 1, purchasedAt: purchasedAt, expiresAt: expiresAt,
            cancelledAt: cancelledAt, appAccountToken: appAccountToken, appTransactionID: account)
        purchase.ownership = ownership ?? .purchased
        purchase.isUpgraded = isUpgraded
        purchase.subscriptionGroupID = subscriptionGroupID
        purchase.webOrderLineItemID = webOrderLineItemID
        if isTrial { purchase.told = PurchaseFacts(isTrial: true) }
        return purchase
    }

    /// Where two places differ, what is not plainly the player's own counts.
    private static func stricter(_ one: Ownership?, _ other: Ownership?) -> Ownership? {
        for ownership in [Ownership.familyShared, .other] where one == ownership || other == ownership {
            return ownership
        }
        return one ?? other
    }
}
