import NamesAndTimes

/// A purchase whose id or product cannot be read. Its submitter gets an event; it is never granted.
public struct NamelessPurchase: Sendable, Equatable {
    /// Stands for a name that cannot even be shown.
    public static let unreadable = "unreadable"
    /// A purchase that Apple signed by itself, in answer to a question about one transaction.
    static let ofSignedAnswer = NamelessPurchase(transactionID: nil, productID: nil, field: "signedTransactionInfo")
    /// The most Unicode scalars of a name that the event shows.
    public static let maximumScalars = 128

    /// The id as Apple wrote it, if it can be shown. It names no transaction of ours.
    public let transactionID: Identifier
    /// The product as Apple wrote it, if it can be shown.
    public let productID: ProductID
    /// Apple's name of the field that cannot be read.
    public let field: String

    /// - Parameters:
    ///   - transactionID: as Apple wrote it; nil where that is no text.
    ///   - productID: likewise.
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

    /// The purchase in an event's list of transactions.
    var rejected: JudgedPurchase {
        var purchase = StorePurchase(
            transactionID: transactionID, originalTransactionID: transactionID, productID: productID,
            purchasedAt: Timestamp(milliseconds: 0))
        purchase.unreadable = [field]
        return JudgedPurchase(purchase: purchase, kind: nil, verdict: .reject(.malformedReceipt))
    }
}
