import AppleProofs
import Fulfillment
import NamesAndTimes

/// The verdict that a worker with this catalog would give without Apple and without the database.
package struct ProofVerdict: Sendable {
    package struct Purchase: Sendable {
        package let transactionID: StoreTransactionID
        /// `granted`, `held` or `rejected`.
        package let outcome: String
        /// The reason; nil for `granted`.
        package let reason: Reason?
    }

    /// `granted`, `held` or `rejected`; `asks_apple` if the verdict needs Apple's answer.
    package let outcome: String
    /// The refusal; nil for `granted` and `asks_apple`.
    package let refusal: Refusal?
    package let purchases: [Purchase]

    /// - Parameters:
    ///   - bundleID: the submission's app. Nil for the catalog's only app, or for the proof's app if the catalog has
    ///     several.
    ///   - now: the time at which a worker would get the submission.
    package init(
        on examined: ExaminedProof, by parser: ProofReader, catalog: Catalog, bundleID: BundleID?, now: Timestamp
    ) {
        let only = catalog.apps.count == 1 ? catalog.apps.keys.first : nil
        guard let bundle = bundleID ?? only ?? examined.bundleID, let proof = examined.proof else {
            self.init(refusal: Refusal(.malformedReceipt, examined.cause))
            return
        }
        let submission = Submission(
            submissionID: "-", playerID: "-", bundleID: bundle, proof: proof, envelope: examined.envelope)
        switch Screening.screen(submission, catalog: catalog, parser: parser, now: now) {
        case .rejected(let refusal, _): self.init(refusal: refusal)
        case .blocked: self.init(outcome: "asks_apple", refusal: nil, purchases: [])
        case .admitted(let parsed):
            guard let terms = catalog.terms[bundle], let evidence = parsed.evidence else {
                self.init(outcome: "asks_apple", refusal: nil, purchases: [])
                return
            }
            let judge = Judge(
                submission: submission, under: terms, recordTimestamp: now, now: now, signature: parsed.signature)
            self.init(judge.judge(.genuine(evidence), doubts: { _ in Judge.triesForUnknownTransaction }))
        }
    }

    private init(outcome: String, refusal: Refusal?, purchases: [Purchase]) {
        self.outcome = outcome
        self.refusal = refusal
        self.purchases = purchases
    }

    private init(refusal: Refusal) { self.init(outcome: "rejected", refusal: refusal, purchases: []) }

    private init(_ judgement: Judgement) {
        switch judgement {
        case .decided(.whole(let reason, _)): self.init(refusal: Refusal(reason))
        case .decided(.each(let judged)): self.init(judged)
        case .doubtful, .needs, .undecided, .blocked: self.init(outcome: "asks_apple", refusal: nil, purchases: [])
        }
    }

    private init(_ judged: [JudgedPurchase]) {
        let purchases = judged.map { one in
            switch one.verdict {
            case .grant: Purchase(transactionID: one.purchase.transactionID, outcome: "granted", reason: nil)
            case .hold(let reason): Purchase(transactionID: one.purchase.transactionID, outcome: "held", reason: reason)
            case .reject(let reason):
                Purchase(transactionID: one.purchase.transactionID, outcome: "rejected", reason: reason)
            }
        }
        // The contract takes the `outcome` of a submission from a granted purchase. Without a granted purchase, it
        // takes the outcome from a held purchase. Otherwise it takes the outcome from the newest purchase.
        let decisive =
            purchases.first { $0.outcome == "granted" } ?? purchases.last { $0.outcome == "held" } ?? purchases.last
        self.init(
            outcome: decisive?.outcome ?? "rejected", refusal: decisive?.reason.map { Refusal($0) },
            purchases: purchases)
    }
}
