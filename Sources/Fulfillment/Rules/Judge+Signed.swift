import NamesAndTimes

/// Never refuses a purchase that Apple has signed because an answer leaves it out. The worker asks Apple for it by
/// name. If nobody can tell, the submission waits.
extension Judge {
    enum SignedWord {
        /// Apple's answer, completed with the purchases that it had left out.
        case told(GenuineReceipt)
        case open(Judgement)
    }

    /// True if Apple signed the proof, or called it genuine before.
    var isApples: Bool { signature == .proven || wasGenuine }

    func isSigned(_ transaction: StoreTransactionID) -> Bool {
        signed?.purchases.contains { $0.transactionID == transaction } ?? false
    }

    /// Returns Apple's answer with the purchases that it leaves out although Apple signed them.
    func withSigned(_ answer: GenuineReceipt, besides further: FurtherAnswers) -> SignedWord {
        let leftOut = purchasesLeftOut(of: answer.purchases)
        if leftOut.isEmpty, answer.purchases.isEmpty, answer.nameless.isEmpty, isApples, signed?.isComplete != true {
            // The listed purchases cannot be read here.
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
                // A purchase whose name cannot be read may be this one: then the answer is not empty.
                if answer.nameless.isEmpty { return .open(.undecided(AppleAnswer.Trouble(.emptyAnswer))) }
            }
        }
        return .told(answer.completed(by: FurtherAnswers(), adding: found))
    }

    /// The proof's transaction if Apple signed it and part of it cannot be read; nil for any other proof.
    var unreadableSigned: GenuineReceipt? {
        guard case .signedTransaction = submission.proof, let receipt = signed?.asReceipt, !receipt.isReadable else {
            return nil
        }
        return receipt
    }

    /// Apple's answer without a receipt, in the form of one without a purchase; nil if the proof lists no purchase to
    /// ask for.
    var emptyAnswer: GenuineReceipt? {
        guard let signed, !signed.purchases.isEmpty, let environment = signed.environment else { return nil }
        return GenuineReceipt(
            bundleID: submission.bundleID, environment: environment, purchases: [], createdAt: signed.signedAt)
    }

    /// True if the signed proof was read whole and lists no purchase. Then an answer that says nothing leaves nothing out.
    var listsNothing: Bool { signed.map { $0.isComplete && $0.purchases.isEmpty } ?? false }

    /// Returns the signed purchases that Apple's answer leaves out: all if the answer has no purchase, else those of the
    /// submitted product if the answer has none of that product.
    private func purchasesLeftOut(of told: [StorePurchase]) -> [StorePurchase] {
        guard let signed, case .receipt = submission.proof else { return [] }
        if told.isEmpty { return signed.purchases }
        guard let product = submission.productID, !told.contains(where: { $0.productID == product }) else { return [] }
        let known = Set(told.map(\.transactionID))
        return signed.purchases.filter { $0.productID == product && !known.contains($0.transactionID) }
    }
}

extension StorePurchase {
    /// The purchase without a cancellation that may be an upgrade. A receipt dates a refund and an upgrade alike, and
    /// only Apple's answer tells which it was.
    fileprivate var withoutDoubtfulCancellation: StorePurchase {
        guard expiresAt != nil else { return self }
        var purchase = self
        purchase.cancelledAt = nil
        return purchase
    }
}
