import Fulfillment

/// Purchases that Apple signed and its answer leaves out are asked for by name.
extension SubmissionWorker {
    /// - Parameter context: nil where the app has no credentials: then only the ledger can know them.
    func askByName(
        _ transactions: [StoreTransactionID], about screened: ScreenedSubmission, _ context: StoreQueryContext?,
        _ retries: RetryState
    ) async throws(Abandoned) -> Judgement? {
        let (item, submission) = (screened.item, screened.submission)
        // Apple's word counts for a held one: the ledger has it, and may not know of its refund.
        if !item.isHeld {
            let claimant = submission.appAccountToken == nil ? nil : submission.playerID
            for known in try await knownToLedger(transactions, item, claimant: claimant) {
                retries.further.note(.inLedger, named: known)
            }
        }
        let open = transactions.filter { retries.further.named[$0] == nil }
        guard let context else {
            for transaction in open { retries.further.note(.unknown, named: transaction) }
            return nil
        }
        return try await lookUp(open, for: item, context) { transaction, told in
            retries.further.note(told.map { .told($0) } ?? .unknown, named: transaction)
        }
    }
}
