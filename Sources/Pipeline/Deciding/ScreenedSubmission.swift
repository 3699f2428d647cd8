import Fulfillment

/// A submission that screening admitted, with its proof. All later steps use it.
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

/// The answer from which a screened submission is judged, with further facts for its decision.
struct ProofAnswer: Sendable {
    /// Apple's answer, the facts in the proof, or evidence in the ledger.
    let answer: AppleAnswer
    let isRemembered: Bool
    /// The catalog's terms of the submission's app.
    let terms: AppTerms
    /// Facts about subscriptions that the rules requested in addition.
    var subscriptions: [SubscriptionFact] = []
    /// Refunds in Apple's answers to these further requests.
    var revoked: [NotifiedTransaction] = []

    /// Returns this answer with the further facts.
    func besides(_ further: FurtherAnswers) -> ProofAnswer {
        var answer = self
        answer.subscriptions = further.allSubscriptions
        answer.revoked = further.revoked
        return answer
    }

    var receipt: GenuineReceipt? {
        if case .genuine(let receipt) = answer { receipt } else { nil }
    }

    /// The cause if the receipt belongs to another app; nil if it belongs to this app.
    var foreignness: Cause? { receipt.flatMap(terms.app.foreignness) }

    /// Returns the environment of the purchases: the receipt's, otherwise the proof's.
    func environment(of proof: ParsedProof) -> StoreEnvironment {
        receipt?.environment ?? proof.content?.environment ?? .production
    }

    /// Returns the refunds in Apple's answers to the further requests. If `verdict` rejects the whole submission, adds
    /// the refunded purchases of the receipt, because they get no verdicts of their own. Adds none if the receipt
    /// belongs to another app.
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
