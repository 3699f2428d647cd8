import SwiftASN1

/// An app receipt as read from DER. The behaviour stays text here: `SimulationState` decodes it, and caches the result.
struct ParsedAppReceipt {
    var receipt: SimulatedReceipt
    var behaviourText: String?

    /// Returns nil if the bytes are not ContentInfo → SignedData → SET OF ReceiptAttribute, or have no bundle id.
    init?(_ bytes: [UInt8]) {
        guard let payload = try? Self.payload(bytes), let attributes = try? ReceiptAttributeValue.read(payload) else {
            return nil
        }
        receipt = SimulatedReceipt(bundleID: "", creationDateMilliseconds: 0, purchases: [])
        for (type, value) in attributes {
            switch type {
            case ReceiptAttribute.receiptType:
                let isSandbox = value.text?.hasSuffix("Sandbox") ?? false
                receipt.environment = isSandbox ? .sandbox : .production
            case ReceiptAttribute.appAppleID: receipt.appAppleID = value.integer ?? 0
            case ReceiptAttribute.bundleID: receipt.bundleID = value.text ?? ""
            case ReceiptAttribute.applicationVersion: receipt.applicationVersion = value.text ?? ""
            case ReceiptAttribute.creationDate: receipt.creationDateMilliseconds = value.date ?? 0
            case ReceiptAttribute.inApp:
                guard let purchase = value.purchase else { return nil }
                receipt.purchases.append(purchase)
            case ReceiptAttribute.behaviour: behaviourText = value.text
            default: break
            }
        }
        guard !receipt.bundleID.isEmpty else { return nil }
    }

    private static func payload(_ bytes: [UInt8]) throws -> ArraySlice<UInt8> {
        try DER.sequence(DER.parse(bytes), identifier: .sequence) { contentInfo in
            let type = try ASN1ObjectIdentifier(derEncoded: &contentInfo)
            guard type == .signedData else { throw ASN1Error.invalidASN1Object(reason: "not SignedData") }
            return try DER.explicitlyTagged(&contentInfo, tagNumber: 0, tagClass: .contextSpecific) { signedData in
                try DER.sequence(signedData, identifier: .sequence) { fields in
                    _ = try Int64(derEncoded: &fields)
                    let algorithms = fields.next()
                    guard algorithms?.identifier == .set, let content = fields.next() else {
                        throw ASN1Error.invalidASN1Object(reason: "no content")
                    }
                    // The simulation does not check certificates and signatures.
                    while fields.next() != nil {}
                    return try octets(content)
                }
            }
        }
    }

    /// Returns the content of `SEQUENCE { type OBJECT IDENTIFIER, content [0] EXPLICIT OCTET STRING }`.
    private static func octets(_ content: ASN1Node) throws -> ArraySlice<UInt8> {
        try DER.sequence(content, identifier: .sequence) { fields in
            _ = try ASN1ObjectIdentifier(derEncoded: &fields)
            return try DER.explicitlyTagged(&fields, tagNumber: 0, tagClass: .contextSpecific) {
                try ASN1OctetString(derEncoded: $0).bytes
            }
        }
    }
}
