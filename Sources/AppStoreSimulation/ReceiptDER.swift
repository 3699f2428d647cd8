import NamesAndTimes
import SwiftASN1

extension DER.Serializer {
    /// Appends an integer. `serialize` never throws for an integer.
    mutating func append(_ value: Int64) { try? serialize(value) }
    mutating func append(_ identifier: ASN1ObjectIdentifier) { try? serialize(identifier) }

    mutating func octets(_ content: [UInt8]) {
        appendPrimitiveNode(identifier: .octetString) { $0.append(contentsOf: content) }
    }

    mutating func utf8(_ text: some StringProtocol) {
        appendPrimitiveNode(identifier: .utf8String) { $0.append(contentsOf: text.utf8) }
    }

    mutating func ia5(_ text: String) {
        appendPrimitiveNode(identifier: .ia5String) { $0.append(contentsOf: text.utf8) }
    }

    /// Appends a date as receipts have it, in whole seconds; for nil an empty string, as in Apple's receipts.
    mutating func date(milliseconds: Int64?) {
        ia5(milliseconds.map { CivilTime(Timestamp(milliseconds: $0 / 1000 * 1000)).text(separator: 0x54) + "Z" } ?? "")
    }

    /// Appends `ReceiptAttribute ::= SEQUENCE { type INTEGER, version INTEGER, value OCTET STRING }`.
    mutating func attribute(_ type: Int64, version: Int64 = 1, _ value: (inout DER.Serializer) -> Void) {
        var content = DER.Serializer()
        value(&content)
        appendConstructedNode(identifier: .sequence) {
            $0.append(type)
            $0.append(version)
            $0.octets(content.serializedBytes)
        }
    }
}

/// The value of a receipt attribute, with readers for each type.
struct ReceiptAttributeValue {
    private let der: ArraySlice<UInt8>

    /// Returns the type and the value of each attribute in a `SET OF ReceiptAttribute`, in the order of the set. Throws
    /// if the bytes are no such set.
    static func read(_ set: ArraySlice<UInt8>) throws -> [(type: Int64, value: ReceiptAttributeValue)] {
        let root = try DER.parse(set)
        guard root.identifier == .set, case .constructed(let nodes) = root.content else {
            throw ASN1Error.unexpectedFieldType(root.identifier)
        }
        return try nodes.map { node in
            try DER.sequence(node, identifier: .sequence) { fields in
                let type = try Int64(derEncoded: &fields)
                _ = try Int64(derEncoded: &fields)
                return (type, ReceiptAttributeValue(der: try ASN1OctetString(derEncoded: &fields).bytes))
            }
        }
    }

    /// Returns the last value of each type in a `SET OF ReceiptAttribute`.
    static func readLast(_ set: ArraySlice<UInt8>) throws -> [Int64: ReceiptAttributeValue] {
        Dictionary(try read(set).map { ($0.type, $0.value) }) { $1 }
    }

    var integer: Int64? { try? Int64(derEncoded: der) }

    /// The text; nil if it is empty.
    var text: String? {
        guard let node = try? DER.parse(der), case .primitive(let content) = node.content, !content.isEmpty else {
            return nil
        }
        return String(decoding: content, as: UTF8.self)
    }

    /// The date in milliseconds since 1970. Nil for the empty string, which is Apple's text for "no date", and for text
    /// that is no date.
    var date: Int64? { text.flatMap { Timestamp(rfc3339: $0)?.milliseconds } }

    var purchase: SimulatedPurchase? {
        guard let attributes = try? Self.readLast(der) else { return nil }
        func text(_ type: Int64) -> String? { attributes[type]?.text }
        func integer(_ type: Int64) -> Int64? { attributes[type]?.integer }
        func date(_ type: Int64) -> Int64? { attributes[type]?.date }
        return SimulatedPurchase(
            transactionID: text(ReceiptAttribute.transactionID) ?? "",
            originalTransactionID: text(ReceiptAttribute.originalTransactionID) ?? "",
            productID: text(ReceiptAttribute.productID) ?? "",
            quantity: integer(ReceiptAttribute.quantity).flatMap { Int(exactly: $0) } ?? 1,
            kind: integer(ReceiptAttribute.productType)
                .flatMap { SimulatedPurchase.Kind(rawValue: Int(truncatingIfNeeded: $0)) } ?? .consumable,
            purchaseDateMilliseconds: date(ReceiptAttribute.purchaseDate) ?? 0,
            originalPurchaseDateMilliseconds: date(ReceiptAttribute.originalTransactionDate) ?? 0,
            expiresDateMilliseconds: date(ReceiptAttribute.expiresDate),
            cancellationDateMilliseconds: date(ReceiptAttribute.cancellationDate),
            isTrial: integer(ReceiptAttribute.isTrial) == 1,
            ownershipType: text(ReceiptAttribute.ownershipType)
                .flatMap(SimulatedPurchase.OwnershipType.init(rawValue:)) ?? .purchased,
            appAccountToken: text(ReceiptAttribute.appAccountToken),
            webOrderLineItemID: integer(ReceiptAttribute.webOrderLineItemID).flatMap { $0 == 0 ? nil : $0 })
    }
}

extension ASN1ObjectIdentifier {
    /// The type of PKCS #7's SignedData.
    static let signedData: ASN1ObjectIdentifier = [1, 2, 840, 113_549, 1, 7, 2]
    static let data: ASN1ObjectIdentifier = [1, 2, 840, 113_549, 1, 7, 1]
    static let sha256: ASN1ObjectIdentifier = [2, 16, 840, 1, 101, 3, 4, 2, 1]
}

extension ASN1Identifier {
    static let context0 = ASN1Identifier(tagWithNumber: 0, tagClass: .contextSpecific)
}
