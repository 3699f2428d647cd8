/// An app receipt as read from DER; the behaviour is left as text, because its JSON is decoded once and then cached.
struct ParsedAppReceipt {
    var receipt: SimulatedReceipt
    var behaviourText: String?

    /// nil when the bytes are not ContentInfo → SignedData → SET OF ReceiptAttribute, or hold no bundle id.
    init?(_ bytes: [UInt8]) {
        guard let payload = Self.payload(bytes) else { return nil }
        var reader = DERReader(bytes, in: payload)
        guard var attributes = reader.enter(DERWriter.Tag.set) else { return nil }
        receipt = SimulatedReceipt(bundleID: "", creationDateMilliseconds: 0, purchases: [])
        while let attribute = Attribute(bytes, &attributes) {
            switch attribute.type {
            case ReceiptAttribute.receiptType:
                let isSandbox = attribute.text?.hasSuffix("Sandbox") ?? false
                receipt.environment = isSandbox ? .sandbox : .production
            case ReceiptAttribute.appAppleID: receipt.appAppleID = attribute.integer ?? 0
            case ReceiptAttribute.bundleID: receipt.bundleID = attribute.text ?? ""
            case ReceiptAttribute.applicationVersion: receipt.applicationVersion = attribute.text ?? ""
            case ReceiptAttribute.creationDate: receipt.creationDateMilliseconds = attribute.date ?? 0
            case ReceiptAttribute.inApp:
                guard let purchase = attribute.purchase else { return nil }
                receipt.purchases.append(purchase)
            case ReceiptAttribute.behaviour: behaviourText = attribute.text
            default: break
            }
        }
        guard !receipt.bundleID.isEmpty else { return nil }
    }

    /// Where the payload octets lie.
    private static func payload(_ bytes: [UInt8]) -> Range<Int>? {
        var top = DERReader(bytes)
        guard var contentInfo = top.enter(DERWriter.Tag.sequence),
            let type = contentInfo.next(DERWriter.Tag.objectIdentifier),
            bytes[type.content].elementsEqual(SimulatedReceipt.ObjectIdentifier.signedData.dropFirst(2)),
            var explicit = contentInfo.enter(DERWriter.Tag.context0),
            var signedData = explicit.enter(DERWriter.Tag.sequence),
            signedData.integer() != nil,
            signedData.next(DERWriter.Tag.set) != nil,
            var content = signedData.enter(DERWriter.Tag.sequence),
            content.next(DERWriter.Tag.objectIdentifier) != nil,
            var octets = content.enter(DERWriter.Tag.context0),
            let payload = octets.next(DERWriter.Tag.octetString)
        else { return nil }
        return payload.content
    }
}

/// One `ReceiptAttribute`.
private struct Attribute {
    let bytes: [UInt8]
    let type: Int64
    let value: Range<Int>

    init?(_ bytes: [UInt8], _ reader: inout DERReader) {
        guard var sequence = reader.enter(DERWriter.Tag.sequence), let type = sequence.integer(),
            sequence.integer() != nil, let value = sequence.next(DERWriter.Tag.octetString)
        else { return nil }
        self.bytes = bytes
        self.type = type
        self.value = value.content
    }

    var integer: Int64? {
        var reader = DERReader(bytes, in: value)
        return reader.integer()
    }

    var text: String? {
        var reader = DERReader(bytes, in: value)
        guard let element = reader.next(), !element.content.isEmpty else { return nil }
        return String(decoding: bytes[element.content], as: UTF8.self)
    }

    /// Milliseconds since 1970; nil also for the empty string that stands for "not set".
    var date: Int64? {
        var reader = DERReader(bytes, in: value)
        return reader.next().flatMap { CivilTime.milliseconds(rfc3339: bytes[$0.content]) }
    }

    var purchase: SimulatedPurchase? {
        var reader = DERReader(bytes, in: value)
        guard var attributes = reader.enter(DERWriter.Tag.set) else { return nil }
        var purchase = SimulatedPurchase(transactionID: "", productID: "", purchaseDateMilliseconds: 0)
        while let attribute = Attribute(bytes, &attributes) {
            switch attribute.type {
            case ReceiptAttribute.quantity: purchase.quantity = attribute.integer.map { Int($0) } ?? 1
            case ReceiptAttribute.productID: purchase.productID = attribute.text ?? ""
            case ReceiptAttribute.transactionID: purchase.transactionID = attribute.text ?? ""
            case ReceiptAttribute.purchaseDate: purchase.purchaseDateMilliseconds = attribute.date ?? 0
            case ReceiptAttribute.originalTransactionID: purchase.originalTransactionID = attribute.text ?? ""
            case ReceiptAttribute.originalTransactionDate:
                purchase.originalPurchaseDateMilliseconds = attribute.date ?? 0
            case ReceiptAttribute.productType:
                purchase.kind = attribute.integer.flatMap { SimulatedPurchase.Kind(rawValue: Int($0)) } ?? .consumable
            case ReceiptAttribute.expiresDate: purchase.expiresDateMilliseconds = attribute.date
            case ReceiptAttribute.webOrderLineItemID:
                purchase.webOrderLineItemID = attribute.integer.flatMap { $0 == 0 ? nil : $0 }
            case ReceiptAttribute.cancellationDate: purchase.cancellationDateMilliseconds = attribute.date
            case ReceiptAttribute.isTrial: purchase.isTrial = attribute.integer == 1
            case ReceiptAttribute.appAccountToken: purchase.appAccountToken = attribute.text
            case ReceiptAttribute.ownershipType:
                purchase.ownershipType =
                    attribute.text.flatMap { SimulatedPurchase.OwnershipType(rawValue: $0) } ?? .purchased
            default: break
            }
        }
        return purchase
    }
}
