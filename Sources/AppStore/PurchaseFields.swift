import Fulfillment

/// One transaction as one place of Apple's answer tells it. The same transaction can stand in several places, each
/// with something that the others leave out.
struct PurchaseFields {
    let transactionID: StoreTransactionID
    var originalTransactionID: StoreTransactionID?
    let productID: ProductID
    var quantity: Int32?
    let purchasedAt: Timestamp
    var expiresAt: Timestamp?
    var cancelledAt: Timestamp?
    var isFamilyShared: Bool
    var appAccountToken: String?
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
        isFamilyShared = fields["in_app_ownership_type"]?.string == "FAMILY_SHARED"
        appAccountToken = fields["app_account_token"]?.string.flatMap(AccountToken.normalized)
        mayRenew = expiresAt != nil || fields.told("web_order_line_item_id") != nil
    }

    /// Takes what another place tells of the same transaction. `later` is the fresher word where both speak.
    mutating func merge(_ later: PurchaseFields) throws(IncompleteAnswer) {
        guard productID == later.productID, (quantity ?? 1) == (later.quantity ?? 1) else { throw IncompleteAnswer() }
        quantity = later.quantity ?? quantity
        originalTransactionID = originalTransactionID ?? later.originalTransactionID
        expiresAt = later.expiresAt ?? expiresAt
        cancelledAt = cancelledAt ?? later.cancelledAt
        isFamilyShared = isFamilyShared || later.isFamilyShared
        appAccountToken = later.appAccountToken ?? appAccountToken
        mayRenew = mayRenew || later.mayRenew
    }

    func purchase(by account: AppTransactionID?) -> StorePurchase {
        StorePurchase(
            transactionID: transactionID, originalTransactionID: originalTransactionID ?? transactionID,
            productID: productID, quantity: quantity ?? 1, purchasedAt: purchasedAt, expiresAt: expiresAt,
            cancelledAt: cancelledAt, isFamilyShared: isFamilyShared, appAccountToken: appAccountToken,
            appTransactionID: account)
    }
}

enum AccountToken {
    /// In lower case, nil where `text` is no UUID in the 8-4-4-4-12 form: Apple carries nothing else.
    static func normalized(_ text: String) -> String? {
        guard text.utf8.count == 36 else { return nil }
        for (position, byte) in text.utf8.enumerated() {
            switch (position, byte) {
            case (8, 0x2D), (13, 0x2D), (18, 0x2D), (23, 0x2D): continue
            case (8, _), (13, _), (18, _), (23, _): return nil
            case (_, 0x30...0x39), (_, 0x41...0x46), (_, 0x61...0x66): continue
            default: return nil
            }
        }
        return text.lowercased()
    }
}
