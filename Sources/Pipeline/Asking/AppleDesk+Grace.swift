import Fulfillment
import NamesAndTimes
import Operations

/// Finds out whether an expired period has a grace period. If the ledger has a newer fact, this fact decides. Otherwise
/// Apple's answer decides.
extension AppleDesk {
    func askForGrace(
        of period: StorePurchase, for work: WorkInHand, _ context: StoreQueryContext, _ further: inout FurtherAnswers
    ) async throws(Abandoned) -> Judgement? {
        let original = period.originalTransactionID
        if let known = await knownSince(period.expiresAt, original) {
            further.note([known], of: original)
            return nil
        }
        var answer = StoreQueryAnswer<[SubscriptionStatus]>.notFound
        try await work.waiting {
            answer = await verification.queries.subscriptionStatuses(of: period.transactionID, context)
        }
        switch answer {
        case .answered(let statuses):
            let ours = statuses.filter { $0.transaction.bundleID == context.bundleID }
            further.noteRevocations(in: ours.lazy.map(\.transaction))
            let facts = ours.compactMap(SubscriptionFact.init)
            further.note(facts.filter { $0.originalTransactionID == original }, of: original)
        case .notFound, .refused: further.note([], of: original)
        case .trouble, .blocked: return answer.judgement
        }
        return nil
    }

    /// Looks up the grace period in the ledger, for an app without the App Store Server API. A notification may have
    /// reported the grace period. If PostgreSQL cannot be reached, returns an undecided judgement, so that the period
    /// is not rejected.
    func lookUpGrace(of period: StorePurchase, _ further: inout FurtherAnswers) async -> Judgement? {
        let original = period.originalTransactionID
        do {
            let known = try await knownFact(of: original, since: period.expiresAt)
            further.note(known.map { [$0] } ?? [], of: original)
            return nil
        } catch {
            metrics.failures.report(error, of: .subscriptions)
            return .undecided(AppleAnswer.Trouble(.connection, wasAsked: false))
        }
    }

    /// Returns the ledger's fact. Returns nil if the ledger has none or cannot be read. The caller then requests the
    /// fact from Apple.
    private func knownSince(_ end: Timestamp?, _ original: StoreTransactionID) async -> SubscriptionFact? {
        do {
            return try await knownFact(of: original, since: end)
        } catch {
            metrics.failures.report(error, of: .subscriptions)
            return nil
        }
    }

    /// Returns the ledger's fact if Apple reported the subscription's state after the period's end, or if the
    /// subscription's grace period ends after the period. Otherwise returns nil.
    private func knownFact(
        of original: StoreTransactionID, since end: Timestamp?
    ) async throws -> SubscriptionFact? {
        guard let end, let known = try await subscriptions.told(of: original),
            let toldAt = known.told.stateAt
        else { return nil }
        let isInGrace = known.graceExpiresAt.map { end < $0 } ?? false
        return toldAt >= end || isInGrace ? SubscriptionFact(known, toldAt: toldAt) : nil
    }
}
