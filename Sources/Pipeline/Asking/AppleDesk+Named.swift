import Fulfillment

/// Requests, by transaction id, the purchases that Apple signed but left out of its answer.
extension AppleDesk {
    /// - Parameter context: the app's credentials and environment. It is nil if the app has no credentials. Then the
    ///   function searches only the ledger.
    func askByName(
        _ transactions: [StoreTransactionID], about inquiry: AppleInquiry, _ context: StoreQueryContext?,
        _ further: inout FurtherAnswers
    ) async throws(Abandoned) -> Judgement? {
        let (work, submission) = (inquiry.work, inquiry.submission)
        if !inquiry.isAskedAgain {
            let claimant = submission.appAccountToken == nil ? nil : submission.playerID
            for known in await knownToLedger(transactions, at: work.position, claimant: claimant) {
                further.note(.inLedger, named: known)
            }
        }
        let open = transactions.filter { further.named[$0] == nil }
        guard let context else {
            for transaction in open { further.note(.unknown, named: transaction) }
            return nil
        }
        return try await lookUp(open, for: work, context) { transaction, told in
            further.note(told.map { .told($0) } ?? .unknown, named: transaction)
        }
    }
}
