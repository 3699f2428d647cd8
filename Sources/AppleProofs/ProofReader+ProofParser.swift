import Fulfillment

extension ProofReader: ProofParser {
    public func parse(receipt bytes: [UInt8]) -> ProofReading { parse(receipt: bytes, provingWhere: { _ in true }) }

    public func parse(receipt bytes: [UInt8], provingWhere matters: (ProofContent) -> Bool) -> ProofReading {
        var content: ProofContent?
        let reading = readReceipt(bytes) { receipt in
            let told = ProofContent(receipt)
            content = told
            return matters(told)
        }
        switch reading {
        case .malformed(let why): return .unreadable(.notAReceipt(why))
        case .read(let receipt):
            return .read(
                content ?? ProofContent(receipt), ParsedProof.Signature(receipt.signature),
                cause: receipt.isLocal ? .xcode : receipt.signature.cause)
        }
    }

    public func parse(signedTransaction text: String) -> ProofReading {
        switch readSignedTransaction(text) {
        // If the text names no transaction, receiptd has no id to ask Apple about, even if the signature is proven.
        case .malformed(let why): .unreadable(.notAJWS(why))
        case .notATransaction: .unreadable(.notATransaction)
        case .nameless(let field): .unreadable(.namelessPurchase([field]))
        case .unreadable(.notProvable), .unreadable(.proven): .unreadable(.notAJWS("it names no transaction"))
        case .unreadable(.forged(let forgery)): .read(nil, .forged, cause: forgery.cause)
        case .read(let transaction):
            .read(
                ProofContent(transaction), ParsedProof.Signature(transaction.signature),
                cause: transaction.signature.cause)
        }
    }
}

extension LocalSignature {
    /// The reason why the signature is forged; nil if the signature is not forged.
    fileprivate var cause: Cause? {
        if case .forged(let forgery) = self { forgery.cause } else { nil }
    }
}

extension Forgery {
    var cause: Cause {
        switch self {
        case .localEnvironment: .xcode
        case .signerCertificateMissing, .intermediateMissing, .chainLength, .unreadableCertificate, .unknownRoot,
            .brokenChain, .leafMarker, .intermediateMarker, .leafUsage, .intermediateUsage, .notValidThen,
            .chainMissing:
            .chainNotApples(rawValue)
        case .contentDigest, .signature, .algorithm, .criticalHeader, .signedDateMissing: .signatureBroken(rawValue)
        }
    }
}

extension ParsedProof.Signature {
    fileprivate init(_ signature: LocalSignature) {
        switch signature {
        case .proven: self = .proven
        case .forged: self = .forged
        case .notProvable: self = .notProvable
        }
    }
}

extension ProofContent {
    fileprivate init(_ receipt: LocalReceipt) {
        // If two entries have one transaction id, only Apple can say which entry is right.
        let count = receipt.purchases.count
        let isUnambiguous = count < 2 || Set(receipt.purchases.map(\.transactionID)).count == count
        self.init(
            bundleID: receipt.bundleID, appAppleID: receipt.appAppleID, environment: receipt.environment,
            purchases: receipt.purchases,
            isComplete: receipt.unreadablePurchases == 0 && !receipt.hasUnreadableFields && isUnambiguous
                && !receipt.hasCancelledPeriod,
            holdsAutoRenewable: receipt.holdsAutoRenewable, signedAt: receipt.creationDate)
    }

    fileprivate init(_ transaction: SignedTransaction) {
        let isAutoRenewable =
            transaction.kind == .autoRenewableSubscription
            || (transaction.kind == nil && transaction.purchase.expiresAt != nil)
        self.init(
            bundleID: transaction.bundleID, environment: transaction.environment, purchases: [transaction.purchase],
            holdsAutoRenewable: isAutoRenewable, signedAt: transaction.signedDate)
    }
}
