extension SimulatedReceipt {
    /// The base64 for `receipt-data`, with a dummy signature.
    public func base64Encoded() -> String {
        base64Encoded { _ in .dummy }
    }

    /// The base64 for `receipt-data`; `signer` is given the payload octets that Apple would sign.
    public func base64Encoded(signer: (_ payload: [UInt8]) throws -> SimulatedSignature) rethrows -> String {
        Base64.encode(try derEncoded(signer: signer))
    }

    /// PKCS#7 ContentInfo of type SignedData.
    public func derEncoded(signer: (_ payload: [UInt8]) throws -> SimulatedSignature) rethrows -> [UInt8] {
        let payload = payload()
        return Self.signedData(payload, try signer(payload))
    }

    /// The SET OF ReceiptAttribute.
    public func payload() -> [UInt8] {
        var writer = DERWriter()
        writer.element(DERWriter.Tag.set) { set in
            let isProduction = environment == .production
            set.attribute(ReceiptAttribute.receiptType) { $0.utf8(environment.receiptType.description) }
            set.attribute(ReceiptAttribute.appAppleID) { $0.integer(isProduction ? appAppleID : 0) }
            set.attribute(ReceiptAttribute.bundleID) { $0.utf8(bundleID) }
            set.attribute(ReceiptAttribute.applicationVersion) { $0.utf8(applicationVersion) }
            set.attribute(ReceiptAttribute.opaqueValue, version: 2) { $0.raw(filler(count: 16)) }
            set.attribute(ReceiptAttribute.hash) { $0.raw(filler(count: 20)) }
            set.attribute(ReceiptAttribute.requestDate) { $0.date(creationDateMilliseconds) }
            set.attribute(ReceiptAttribute.ageRating) { $0.ia5("4+") }
            set.attribute(ReceiptAttribute.creationDate) { $0.date(creationDateMilliseconds) }
            set.attribute(ReceiptAttribute.downloadID) { $0.integer(isProduction ? AnswerConstants.downloadID : 0) }
            set.attribute(ReceiptAttribute.versionExternalID) {
                $0.integer(isProduction ? AnswerConstants.versionExternalID : 0)
            }
            for purchase in purchases {
                set.attribute(ReceiptAttribute.inApp) { value in
                    value.element(DERWriter.Tag.set) { $0.purchase(purchase) }
                }
            }
            set.attribute(ReceiptAttribute.originalPurchaseDate) { $0.date(creationDateMilliseconds) }
            set.attribute(ReceiptAttribute.originalApplicationVersion) { $0.utf8(applicationVersion) }
            if let behaviour {
                set.attribute(ReceiptAttribute.behaviour) { $0.utf8(behaviour.json) }
            }
        }
        return writer.bytes
    }

    /// Stands for the device-bound values, which only the device could check.
    private func filler(count: Int) -> [UInt8] {
        var generator = SplitMix64(seed: ReceiptHash.hash(bundleID) ^ UInt64(bitPattern: creationDateMilliseconds))
        return (0..<count).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
    }

    private static func signedData(_ payload: [UInt8], _ signature: SimulatedSignature) -> [UInt8] {
        var writer = DERWriter()
        writer.element(DERWriter.Tag.sequence) { contentInfo in
            contentInfo.raw(ObjectIdentifier.signedData)
            contentInfo.element(DERWriter.Tag.context0) { explicit in
                explicit.element(DERWriter.Tag.sequence) { signedData in
                    signedData.integer(1)
                    signedData.element(DERWriter.Tag.set) { $0.algorithm(ObjectIdentifier.sha256) }
                    signedData.element(DERWriter.Tag.sequence) { content in
                        content.raw(ObjectIdentifier.data)
                        content.element(DERWriter.Tag.context0) {
                            $0.primitive(DERWriter.Tag.octetString, payload)
                        }
                    }
                    signedData.element(DERWriter.Tag.context0) { certificates in
                        for certificate in signature.certificates { certificates.raw(certificate) }
                    }
                    signedData.element(DERWriter.Tag.set) { $0.signerInfo(signature) }
                }
            }
        }
        return writer.bytes
    }

    /// Encoded with tag and length.
    enum ObjectIdentifier {
        static let signedData: [UInt8] = [0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x02]
        static let data: [UInt8] = [0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x01]
        static let sha256: [UInt8] = [0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01]
        static let rsaEncryption: [UInt8] = [0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01]
        static let commonName: [UInt8] = [0x06, 0x03, 0x55, 0x04, 0x03]
    }
}

extension DERWriter {
    fileprivate mutating func algorithm(_ identifier: [UInt8]) {
        element(Tag.sequence) {
            $0.raw(identifier)
            $0.primitive(Tag.null, [])
        }
    }

    fileprivate mutating func date(_ milliseconds: Int64?) {
        // Apple encodes "no date" as an empty string.
        ia5(milliseconds.map { CivilTime.rfc3339(milliseconds: $0) } ?? "")
    }

    fileprivate mutating func signerInfo(_ signature: SimulatedSignature) {
        element(Tag.sequence) { info in
            info.integer(1)
            if let issuer = signature.issuerAndSerialNumber {
                info.raw(issuer)
            } else {
                info.element(Tag.sequence) { issuerAndSerial in
                    issuerAndSerial.element(Tag.sequence) { name in
                        name.element(Tag.set) { relative in
                            relative.element(Tag.sequence) {
                                $0.raw(SimulatedReceipt.ObjectIdentifier.commonName)
                                $0.utf8("Simulated App Store")
                            }
                        }
                    }
                    issuerAndSerial.integer(1)
                }
            }
            info.algorithm(SimulatedReceipt.ObjectIdentifier.sha256)
            info.algorithm(SimulatedReceipt.ObjectIdentifier.rsaEncryption)
            info.primitive(Tag.octetString, signature.signature)
        }
    }

    fileprivate mutating func purchase(_ purchase: SimulatedPurchase) {
        attribute(ReceiptAttribute.quantity) { $0.integer(Int64(purchase.quantity)) }
        attribute(ReceiptAttribute.productID) { $0.utf8(purchase.productID) }
        attribute(ReceiptAttribute.transactionID) { $0.utf8(purchase.transactionID) }
        attribute(ReceiptAttribute.purchaseDate) { $0.date(purchase.purchaseDateMilliseconds) }
        attribute(ReceiptAttribute.originalTransactionID) { $0.utf8(purchase.originalTransactionID) }
        attribute(ReceiptAttribute.originalTransactionDate) { $0.date(purchase.originalPurchaseDateMilliseconds) }
        attribute(ReceiptAttribute.productType) { $0.integer(Int64(purchase.kind.rawValue)) }
        attribute(ReceiptAttribute.expiresDate) { $0.date(purchase.expiresDateMilliseconds) }
        attribute(ReceiptAttribute.webOrderLineItemID) { $0.integer(purchase.webOrderLineItemID ?? 0) }
        attribute(ReceiptAttribute.cancellationDate) { $0.date(purchase.cancellationDateMilliseconds) }
        attribute(ReceiptAttribute.isTrial) { $0.integer(purchase.isTrial ? 1 : 0) }
        attribute(ReceiptAttribute.isInIntroOffer) { $0.integer(0) }
        if let token = purchase.appAccountToken {
            attribute(ReceiptAttribute.appAccountToken) { $0.utf8(token) }
        }
        if purchase.ownershipType != .purchased {
            attribute(ReceiptAttribute.ownershipType) { $0.utf8(purchase.ownershipType.rawValue) }
        }
    }
}
