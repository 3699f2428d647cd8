import Fulfillment

/// A submission whose proof was read. The steps after screening work on it.
struct ScreenedSubmission: Sendable {
    let item: SubmissionInHand
    let submission: Submission
    let proof: ParsedProof

    var inquiry: AppleInquiry {
        AppleInquiry(
            work: item.work, submission: submission, proof: proof, isLeased: item.isParked,
            parkedFor: item.parked?.reason)
    }
}

/// The answer by which a screened submission is judged, with the facts from which its decision is made.
struct ProofAnswer: Sendable {
    /// Apple's answer, or the facts in the proof, or the evidence that the ledger remembers.
    let answer: AppleAnswer
    let isRemembered: Bool
    /// The catalog's terms of the submission's app.
    let terms: AppTerms
    /// The facts about subscriptions in further answers.
    var subscriptions: [SubscriptionFact] = []
    /// The refunds in further answers.
    var revoked: [NotifiedTransaction] = []

    /// Returns this answer with the facts of further answers added.
    func besides(_ further: FurtherAnswers) -> ProofAnswer {
        var answer = self
        answer.subscriptions = further.allSubscriptions
        answer.revoked = further.revoked
        return answer
    }

    var receipt: GenuineReceipt? {
        if case .genuine(let receipt) = answer { receipt } else { nil }
    }

    /// The reason why the receipt belongs to another app; nil if it belongs to this app.
    var foreignness: Cause? { receipt.flatMap(terms.app.foreignness) }

    /// Returns the environment of the purchases: the receipt's, or else the proof's.
    func environment(of proof: ParsedProof) -> StoreEnvironment {
        receipt?.environment ?? proof.content?.environment ?? .production
    }

    /// Returns the refunds that Apple shows and that `verdict` does not decide for each purchase.
    func revocations(besides verdict: Verdict) -> [NotifiedTransaction] {
        guard case .whole(let reason, let purchases) = verdict, reason != .foreignApp, let receipt else {
            return revoked
        }
        return revoked
            + purchases.filter { $0.cancelledAt != nil }.map { purchase in
                NotifiedTransaction(
                    purchase: purchase, kind: terms.app.kind(of: purchase), bundleID: terms.app.bundleID,
                    environment: receipt.environment)
            }
    }
}
