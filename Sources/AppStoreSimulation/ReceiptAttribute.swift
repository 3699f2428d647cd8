/// The attribute types of an app receipt.
///
/// Apple documents 2, 3, 4, 5, 12, 17, 19, 1701–1706, 1708, 1711, 1712 and 1719 ("Receipt Fields"). The other types
/// were observed in real receipts. Types from 90000 on are the simulation's and appear in no real receipt.
enum ReceiptAttribute {
    static let receiptType: Int64 = 0
    static let appAppleID: Int64 = 1
    static let bundleID: Int64 = 2
    static let applicationVersion: Int64 = 3
    static let opaqueValue: Int64 = 4
    static let hash: Int64 = 5
    static let requestDate: Int64 = 8
    static let ageRating: Int64 = 10
    static let creationDate: Int64 = 12
    static let downloadID: Int64 = 15
    static let versionExternalID: Int64 = 16
    static let inApp: Int64 = 17
    static let originalPurchaseDate: Int64 = 18
    static let originalApplicationVersion: Int64 = 19

    static let quantity: Int64 = 1701
    static let productID: Int64 = 1702
    static let transactionID: Int64 = 1703
    static let purchaseDate: Int64 = 1704
    static let originalTransactionID: Int64 = 1705
    static let originalTransactionDate: Int64 = 1706
    static let productType: Int64 = 1707
    static let expiresDate: Int64 = 1708
    static let webOrderLineItemID: Int64 = 1711
    static let cancellationDate: Int64 = 1712
    static let isTrial: Int64 = 1713
    static let isInIntroOffer: Int64 = 1719

    /// The attribute of the receipt with its `SimulatedBehaviour`: a UTF8String with JSON.
    static let behaviour: Int64 = 90_000
    /// The attribute of a purchase with its account token: a UTF8String. Apple's receipts do not contain the token.
    static let appAccountToken: Int64 = 90_101
    /// The attribute of a purchase with its ownership: the UTF8String `PURCHASED` or `FAMILY_SHARED`.
    static let ownershipType: Int64 = 90_102
}
