import Fulfillment
import NamesAndTimes

/// The attributes of an app receipt's payload, or of one purchase in it: `SET OF SEQUENCE { type, version, value }`.
///
/// Apple documents the types 2, 12, 17, 1701 to 1706, 1708, 1711 and 1712 ("Receipt Fields"). Every receipt also has
/// the types 0, 1 and 1707, which Apple does not document.
enum ReceiptAttribute {
    static let environment: Int64 = 0
    static let appAppleID: Int64 = 1
    static let bundleID: Int64 = 2
    static let creationDate: Int64 = 12
    static let purchase: Int64 = 17

    static let quantity: Int64 = 1701
    static let productID: Int64 = 1702
    static let transactionID: Int64 = 1703
    static let purchaseDate: Int64 = 1704
    static let originalTransactionID: Int64 = 1705
    static let originalPurchaseDate: Int64 = 1706
    static let productKind: Int64 = 1707
    static let expiryDate: Int64 = 1708
    static let webOrderLineItemID: Int64 = 1711
    static let cancellationDate: Int64 = 1712
}

struct ReceiptAttributeReader {
    private let bytes: [UInt8]
    private var reader: BERReader

    /// Throws if the range is not one SET.
    init(_ bytes: [UInt8], in range: Range<Int>) throws(BERFault) {
        self.bytes = bytes
        var outer = BERReader(bytes, in: range)
        let set = try outer.next(BERTag.set)
        guard outer.isAtEnd else { throw .unexpectedElement }
        reader = BERReader(bytes, inside: set)
    }

    /// Returns the type of the next attribute and the place of its value; nil at the end.
    mutating func next() throws(BERFault) -> (type: Int64, value: Range<Int>)? {
        guard let element = try reader.next() else { return nil }
        guard element.tag == BERTag.sequence else { throw .unexpectedElement }
        var parts = BERReader(bytes, inside: element)
        let type = BERReader.integer(try parts.next(BERTag.integer), in: bytes)
        _ = try parts.next(BERTag.integer)
        return (type ?? -1, try parts.next(BERTag.octetString).content)
    }

    /// Returns the first element in a value; nil if the value is empty or not BER.
    func element(in value: Range<Int>) -> BERElement? {
        var reader = BERReader(bytes, in: value)
        return (try? reader.next()) ?? nil
    }

    /// Returns the value's text; nil if the value is empty or is not text.
    func text(_ value: Range<Int>) -> String? {
        guard let element = element(in: value), let text = BERReader.string(element, in: bytes), !text.isEmpty else {
            return nil
        }
        return text
    }

    /// Returns whether the value or its text is empty, which means that the attribute is absent.
    func isUnset(_ value: Range<Int>) -> Bool {
        guard !value.isEmpty else { return true }
        return element(in: value).flatMap { BERReader.string($0, in: bytes) }?.isEmpty ?? false
    }

    func identifier(_ value: Range<Int>) -> Identifier? {
        text(value).flatMap { ReceiptText.identifier($0) }
    }

    func transactionID(_ value: Range<Int>) -> StoreTransactionID? {
        text(value).flatMap { TransactionIDText.read($0) }
    }

    func integer(_ value: Range<Int>) -> Int64? {
        element(in: value).flatMap { BERReader.integer($0, in: bytes) }
    }
}
