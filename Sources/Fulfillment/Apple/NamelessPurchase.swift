import NamesAndTimes

/// A purchase whose id or product receiptd cannot read. receiptd publishes a rejection of the purchase.
public struct NamelessPurchase: Sendable, Equatable {
    /// The text in place of an id or a product that receiptd cannot read.
    public static let unreadable = "unreadable"
    /// The purchase that replaces a transaction in Apple's signed answer if receiptd cannot read its ids or product.
    static let ofSignedAnswer = NamelessPurchase(transactionID: nil, productID: nil, field: "signedTransactionInfo")
    /// An id or a product in an event has at most this many Unicode scalars.
    public static let maximumScalars = 128

    /// The id as Apple wrote it, or `unreadable`. No transaction of the ledger has this id.
    public let transactionID: Identifier
    /// The product as Apple wrote it, or `unreadable`.
    public let productID: ProductID
    /// Apple's name of the field that cannot be read.
    public let field: String

    /// - Parameters:
    ///   - transactionID: the id as Apple wrote it; nil if Apple's value is not text.
    ///   - productID: the product as Apple wrote it; nil if Apple's value is not text.
    ///   - field: Apple's name of the field that cannot be read.
    public init(transactionID: String?, productID: String?, field: String) {
        self.transactionID = Identifier(Self.shown(transactionID))
        self.productID = ProductID(Self.shown(productID))
        self.field = field
    }

    private static func shown(_ text: String?) -> String {
        guard let text, !text.isEmpty, !text.utf8.contains(0), text.unicodeScalars.count <= maximumScalars else {
            return unreadable
        }
        return text
    }

    /// The rejected purchase, as an event lists it.
    var rejected: JudgedPurchase {
        var purchase = StorePurchase(
            transactionID: transactionID, originalTransactionID: transactionID, productID: productID,
            purchasedAt: Timestamp(milliseconds: 0))
        purchase.unreadable = [field]
        return JudgedPurchase(purchase: purchase, kind: nil, verdict: .reject(.malformedReceipt))
    }
}
