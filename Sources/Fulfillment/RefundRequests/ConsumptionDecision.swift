import NamesAndTimes

/// The answer that Apple gets about a refund request now (docs/contract/catalog.md).
public enum ConsumptionDecision: Sendable, Equatable {
    case answer(ConsumptionAnswer)
    /// The worker waits, because the inventory service may not have the grant yet.
    case wait
    case end(ConsumptionResult)
}

/// The result of a refund request.
public enum ConsumptionResult: String, Sendable, CaseIterable {
    case accepted
    /// Apple will never accept the answer.
    case refused
    /// Apple's twelve hours are over.
    case tooLate = "too_late"
    case revoked
    case notConsented = "not_consented"
    /// The catalog does not ask for answers.
    case notConfigured = "not_configured"
    /// The ledger has no grant, hold or refusal of the transaction.
    case notInLedger = "not_in_ledger"
}

extension LeasedRefundRequest {
    /// - Parameter catalog: says whether Apple is answered, and fills in what the game left out.
    public func decision(under catalog: Catalog, at now: Timestamp) -> ConsumptionDecision {
        // A transaction that did not appear for as long as Apple takes an answer was never there.
        guard now < request.answerBy else { return .end(delivery == .unknown ? .notInLedger : .tooLate) }
        guard let app = catalog.apps[request.bundleID], app.serverAPI != nil, let policy = app.announcements.consumption
        else {
            return .end(.notConfigured)
        }
        // The catalog's policy itself says that the players agreed.
        guard report?.isConsented ?? true else { return .end(.notConsented) }
        let isDelivered: Bool
        switch delivery {
        case .granted(isAcknowledged: true): isDelivered = true
        case .granted(isAcknowledged: false): return .wait
        case .undelivered: isDelivered = false
        case .revoked: return .end(.revoked)
        case .unknown: return .end(.notInLedger)
        }
        let kind = request.kind ?? app.products[request.productID]?.kind
        let isAutoRenewable = kind == .autoRenewableSubscription
        // Nothing of an undelivered purchase is used up. Apple takes no share of a subscription.
        let consumed = isAutoRenewable ? nil : isDelivered ? report?.consumedMilliPercent : 0
        var preference = report?.refundPreference ?? policy.refundPreference
        if preference == .decline, !isDelivered { preference = nil }
        if preference == .grantProrated, !isAutoRenewable, !Self.isPart(consumed) { preference = nil }
        return .answer(
            ConsumptionAnswer(
                delivery: isDelivered ? .delivered : .undelivered,
                providesSampleContent: policy.providesSampleContent, consumedMilliPercent: consumed,
                refundPreference: preference))
    }

    /// Returns whether the share is more than nothing and less than all. Only then can a share be refunded.
    private static func isPart(_ milliPercent: Int32?) -> Bool {
        milliPercent.map { 0 < $0 && $0 < ConsumptionReport.wholeInMilliPercent } ?? false
    }
}
