import NamesAndTimes

/// Rules for a purchase that Apple signed, but that Apple's answer leaves out. The worker does not reject such a
/// purchase, but asks Apple for the purchase by its id. If neither Apple nor the ledger knows the purchase, the
/// submission waits.
extension Judge {
    enum SignedWord {
        /// Apple's answer, completed with the signed purchases that it had left out.
        case told(GenuineReceipt)
        case open(Judgement)
    }

    /// True if Apple signed the proof, or called the proof genuine before.
    var isApples: Bool { signature == .proven || held != nil }

    func isSigned(_ transaction: StoreTransactionID) -> Bool {
        signed?.purchases.contains { $0.transactionID == transaction } ?? false
    }

    /// Returns Apple's answer, completed with the signed purchases that the answer leaves out. If one of these
    /// purchases is still unknown, returns the submission's judgement instead.
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
                // A purchase without a readable id in Apple's answer may be the missing purchase. If the answer has no
                // such purchase, the submission waits.
                if answer.nameless.isEmpty { return .open(.undecided(AppleAnswer.Trouble(.emptyAnswer))) }
            }
        }
        return .told(answer.completed(by: FurtherAnswers(), adding: found))
    }

    /// The evidence of a signed transaction that receiptd can read only in part; nil for a proof that is fully readable
    /// or not a signed transaction.
    var unreadableSigned: GenuineReceipt? {
        guard case .signedTransaction = submission.proof, let receipt = signed?.asReceipt, !receipt.isReadable else {
            return nil
        }
        return receipt
    }

    /// An answer without purchases, which stands for Apple's status 0 without a receipt; nil if the proof lists no
    /// purchase, or has no environment.
    var emptyAnswer: GenuineReceipt? {
        guard let signed, !signed.purchases.isEmpty, let environment = signed.environment else { return nil }
        return GenuineReceipt(
            bundleID: submission.bundleID, environment: environment, purchases: [], createdAt: signed.signedAt)
    }

    /// True if receiptd read the whole signed proof and found no purchase. Then Apple's answer without a receipt leaves
    /// nothing out.
    var listsNothing: Bool { signed.map { $0.isComplete && $0.purchases.isEmpty } ?? false }

    /// Returns the signed purchases that Apple's answer leaves out. An answer without any purchase leaves out all. An
    /// answer without the submitted product leaves out the signed purchases of that product. For a hold, only the held
    /// purchase counts.
    private func purchasesLeftOut(of told: [StorePurchase]) -> [StorePurchase] {
        guard let signed, case .receipt = submission.proof else { return [] }
        if told.isEmpty { return signed.purchases.filter { decides($0.transactionID) } }
        guard let product = submission.productID, !told.contains(where: { $0.productID == product }) else { return [] }
        let known = Set(told.map(\.transactionID))
        return signed.purchases.filter {
            $0.productID == product && decides($0.transactionID) && !known.contains($0.transactionID)
        }
    }
}

extension StorePurchase {
    /// The purchase without its cancellation time if the purchase has an end; otherwise the purchase itself. In a
    /// receipt, the cancellation time of a period may mean a refund or an upgrade. Only Apple's answer shows which of
    /// the two it is.
    fileprivate var withoutDoubtfulCancellation: StorePurchase {
        guard expiresAt != nil else { return self }
        var purchase = self
        purchase.cancelledAt = nil
        return purchase
    }
}
