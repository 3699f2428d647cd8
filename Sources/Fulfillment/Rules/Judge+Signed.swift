import NamesAndTimes

/// Rules for a purchase that Apple signed and that Apple's answer leaves out. The worker never rejects the purchase for
/// this reason: it asks Apple for the purchase by its id. If neither Apple nor the ledger knows it, the submission
/// waits.
extension Judge {
    enum SignedWord {
        /// Apple's answer, completed with the purchases that it had left out.
        case told(GenuineReceipt)
        case open(Judgement)
    }

    /// True if Apple signed the proof, or called the proof genuine before.
    var isApples: Bool { signature == .proven || wasGenuine }

    func isSigned(_ transaction: StoreTransactionID) -> Bool {
        signed?.purchases.contains { $0.transactionID == transaction } ?? false
    }

    /// Returns Apple's answer, completed with the signed purchases that it leaves out. While one of these purchases is
    /// unknown, the result is the judgement that the submission gets instead.
    func withSigned(_ answer: GenuineReceipt, besides further: FurtherAnswers) -> SignedWord {
        let leftOut = purchasesLeftOut(of: answer.purchases)
        if leftOut.isEmpty, answer.purchases.isEmpty, answer.nameless.isEmpty, isApples, signed?.isComplete != true {
            // The proof may list purchases that receiptd cannot read.
            return .open(.undecided(AppleAnswer.Trouble(.emptyAnswer)))
        }
        let unasked = leftOut.map(\.transactionID).filter { further.named[$0] == nil }
        if !unasked.isEmpty { return .open(.needs(.named(unasked, in: answer.environment))) }
        var found: [StorePurchase] = []
        for purchase in leftOut {
            switch further.named[purchase.transactionID] {
            case .told(let told): found.append(told)
            case .inLedger: found.append(purchase.withoutDoubtfulCancellation)
            case .unknown, nil:
                // If the answer has a purchase without a readable id, this purchase may be the missing one. Otherwise
                // the submission waits.
                if answer.nameless.isEmpty { return .open(.undecided(AppleAnswer.Trouble(.emptyAnswer))) }
            }
        }
        return .told(answer.completed(by: FurtherAnswers(), adding: found))
    }

    /// The evidence of a signed transaction of which receiptd cannot read a part; nil for any other proof.
    var unreadableSigned: GenuineReceipt? {
        guard case .signedTransaction = submission.proof, let receipt = signed?.asReceipt, !receipt.isReadable else {
            return nil
        }
        return receipt
    }

    /// An answer without purchases, which stands for Apple's status 0 without a receipt; nil if the proof lists no
    /// purchase to ask for.
    var emptyAnswer: GenuineReceipt? {
        guard let signed, !signed.purchases.isEmpty, let environment = signed.environment else { return nil }
        return GenuineReceipt(
            bundleID: submission.bundleID, environment: environment, purchases: [], createdAt: signed.signedAt)
    }

    /// True if receiptd read the whole signed proof and it lists no purchase, so that Apple's answer without a receipt
    /// leaves nothing out.
    var listsNothing: Bool { signed.map { $0.isComplete && $0.purchases.isEmpty } ?? false }

    /// Returns the signed purchases that Apple's answer leaves out. An answer without any purchase leaves out all. An
    /// answer without the submitted product leaves out the signed purchases of that product.
    private func purchasesLeftOut(of told: [StorePurchase]) -> [StorePurchase] {
        guard let signed, case .receipt = submission.proof else { return [] }
        if told.isEmpty { return signed.purchases }
        guard let product = submission.productID, !told.contains(where: { $0.productID == product }) else { return [] }
        let known = Set(told.map(\.transactionID))
        return signed.purchases.filter { $0.productID == product && !known.contains($0.transactionID) }
    }
}

extension StorePurchase {
    /// The purchase without a cancellation that may be an upgrade. A receipt dates refunds and upgrades alike, and only
    /// Apple's answer tells them apart.
    fileprivate var withoutDoubtfulCancellation: StorePurchase {
        guard expiresAt != nil else { return self }
        var purchase = self
        purchase.cancelledAt = nil
        return purchase
    }
}
