import Encodings
import SwiftASN1

extension SimulatedReceipt {
    /// Returns the base64 for `receipt-data`, with a signature that is not valid.
    public func base64Encoded() -> String {
        base64Encoded { _ in .dummy }
    }

    /// Returns the base64 for `receipt-data`.
    /// - Parameter signer: signs the payload, as Apple would.
    public func base64Encoded(signer: (_ payload: [UInt8]) throws -> SimulatedSignature) rethrows -> String {
        Base64.encode(try derEncoded(signer: signer))
    }

    /// Returns the receipt as a PKCS #7 ContentInfo with SignedData.
    public func derEncoded(signer: (_ payload: [UInt8]) throws -> SimulatedSignature) rethrows -> [UInt8] {
        let payload = payload()
        return Self.signedData(payload, try signer(payload))
    }

    /// Returns the payload, a SET OF ReceiptAttribute.
    public func payload() -> [UInt8] {
        var writer = DER.Serializer()
        writer.appendConstructedNode(identifier: .set) { set in
            let isProduction = environment == .production
            set.attribute(ReceiptAttribute.receiptType) { $0.utf8(environment.receiptType.description) }
            set.attribute(ReceiptAttribute.appAppleID) { $0.append(isProduction ? appAppleID : 0) }
            set.attribute(ReceiptAttribute.bundleID) { $0.utf8(bundleID) }
            set.attribute(ReceiptAttribute.applicationVersion) { $0.utf8(applicationVersion) }
            set.attribute(ReceiptAttribute.opaqueValue, version: 2) { $0.serializeRawBytes(filler(count: 16)) }
            set.attribute(ReceiptAttribute.hash) { $0.serializeRawBytes(filler(count: 20)) }
            set.attribute(ReceiptAttribute.requestDate) { $0.date(milliseconds: creationDateMilliseconds) }
            set.attribute(ReceiptAttribute.ageRating) { $0.ia5("4+") }
            set.attribute(ReceiptAttribute.creationDate) { $0.date(milliseconds: creationDateMilliseconds) }
            set.attribute(ReceiptAttribute.downloadID) { $0.append(isProduction ? AnswerConstants.downloadID : 0) }
            set.attribute(ReceiptAttribute.versionExternalID) {
                $0.append(isProduction ? AnswerConstants.versionExternalID : 0)
            }
            for purchase in purchases {
                set.attribute(ReceiptAttribute.inApp) { value in
                    value.appendConstructedNode(identifier: .set) { $0.purchase(purchase) }
                }
            }
            set.attribute(ReceiptAttribute.originalPurchaseDate) { $0.date(milliseconds: creationDateMilliseconds) }
            set.attribute(ReceiptAttribute.originalApplicationVersion) { $0.utf8(applicationVersion) }
            if let behaviour {
                set.attribute(ReceiptAttribute.behaviour) { $0.utf8(behaviour.json) }
            }
        }
        return writer.serializedBytes
    }

    /// Returns made-up bytes for the attributes that only the device could check.
    private func filler(count: Int) -> [UInt8] {
        var generator = SplitMix64(seed: ReceiptHash.hash(bundleID) ^ UInt64(bitPattern: creationDateMilliseconds))
        return (0..<count).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
    }

    private static func signedData(_ payload: [UInt8], _ signature: SimulatedSignature) -> [UInt8] {
        var writer = DER.Serializer()
        writer.appendConstructedNode(identifier: .sequence) { contentInfo in
            contentInfo.append(ASN1ObjectIdentifier.signedData)
            contentInfo.appendConstructedNode(identifier: .context0) { explicit in
                explicit.appendConstructedNode(identifier: .sequence) { signedData in
                    signedData.append(1)
                    signedData.appendConstructedNode(identifier: .set) { $0.algorithm(.sha256) }
                    signedData.appendConstructedNode(identifier: .sequence) { content in
                        content.append(ASN1ObjectIdentifier.data)
                        content.appendConstructedNode(identifier: .context0) { $0.octets(payload) }
                    }
                    signedData.appendConstructedNode(identifier: .context0) { certificates in
                        for certificate in signature.certificates { certificates.serializeRawBytes(certificate) }
                    }
                    signedData.appendConstructedNode(identifier: .set) { $0.signerInfo(signature) }
                }
            }
        }
        return writer.serializedBytes
    }
}

extension DER.Serializer {
    fileprivate mutating func algorithm(_ identifier: ASN1ObjectIdentifier) {
        appendConstructedNode(identifier: .sequence) {
            $0.append(identifier)
            $0.appendPrimitiveNode(identifier: .null) { _ in }
        }
    }

    fileprivate mutating func signerInfo(_ signature: SimulatedSignature) {
        appendConstructedNode(identifier: .sequence) { info in
            info.append(1)
            if let issuer = signature.issuerAndSerialNumber {
                info.serializeRawBytes(issuer)
            } else {
                info.appendConstructedNode(identifier: .sequence) { issuerAndSerial in
                    issuerAndSerial.appendConstructedNode(identifier: .sequence) { name in
                        name.appendConstructedNode(identifier: .set) { relative in
                            relative.appendConstructedNode(identifier: .sequence) {
                                $0.append(ASN1ObjectIdentifier.NameAttributes.commonName)
                                $0.utf8("Simulated App Store")
                            }
                        }
                    }
                    issuerAndSerial.append(1)
                }
            }
            info.algorithm(.sha256)
            info.algorithm(ASN1ObjectIdentifier.AlgorithmIdentifier.rsaEncryption)
            info.octets(signature.signature)
        }
    }

    fileprivate mutating func purchase(_ purchase: SimulatedPurchase) {
        attribute(ReceiptAttribute.quantity) { $0.append(Int64(purchase.quantity)) }
        attribute(ReceiptAttribute.productID) { $0.utf8(purchase.productID) }
        attribute(ReceiptAttribute.transactionID) { $0.utf8(purchase.transactionID) }
        attribute(ReceiptAttribute.purchaseDate) { $0.date(milliseconds: purchase.purchaseDateMilliseconds) }
        attribute(ReceiptAttribute.originalTransactionID) { $0.utf8(purchase.originalTransactionID) }
        attribute(ReceiptAttribute.originalTransactionDate) {
            $0.date(milliseconds: purchase.originalPurchaseDateMilliseconds)
        }
        attribute(ReceiptAttribute.productType) { $0.append(Int64(purchase.kind.rawValue)) }
        attribute(ReceiptAttribute.expiresDate) { $0.date(milliseconds: purchase.expiresDateMilliseconds) }
        attribute(ReceiptAttribute.webOrderLineItemID) { $0.append(purchase.webOrderLineItemID ?? 0) }
        attribute(ReceiptAttribute.cancellationDate) { $0.date(milliseconds: purchase.cancellationDateMilliseconds) }
        attribute(ReceiptAttribute.isTrial) { $0.append(purchase.isTrial ? 1 : 0) }
        attribute(ReceiptAttribute.isInIntroOffer) { $0.append(0) }
        if let token = purchase.appAccountToken {
            attribute(ReceiptAttribute.appAccountToken) { $0.utf8(token) }
        }
        if purchase.ownershipType != .purchased {
            attribute(ReceiptAttribute.ownershipType) { $0.utf8(purchase.ownershipType.rawValue) }
        }
    }
}
