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
        guard case .read(let receipt) = reading else { return .malformed }
        return .read(content ?? ProofContent(receipt), ParsedProof.Signature(receipt.signature))
    }

    public func parse(signedTransaction text: String) -> ProofReading {
        switch readSignedTransaction(text) {
        // Without a transaction in it there is nothing that Apple could be asked for, whatever its signature is worth.
        case .malformed, .notATransaction, .unreadable(.notProvable), .unreadable(.proven): .malformed
        case .unreadable(.forged): .read(nil, .forged)
        case .read(let transaction):
            .read(ProofContent(transaction), ParsedProof.Signature(transaction.signature))
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
        // Which of two rows of one transaction holds, Apple has to say.
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
            isComplete: transaction.isComplete, holdsAutoRenewable: isAutoRenewable, signedAt: transaction.signedDate)
    }
}
