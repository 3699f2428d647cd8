import NamesAndTimes

/// The next step for a refund request: answer Apple, wait, or end (docs/contract/catalog.md).
public enum ConsumptionDecision: Sendable, Equatable {
    case answer(ConsumptionAnswer)
    /// The worker waits, because the broker has not acknowledged the grant's event yet.
    case wait
    case end(ConsumptionResult)
}

/// The result of a refund request.
public enum ConsumptionResult: String, Sendable, CaseIterable {
    case accepted
    /// Apple will never accept the answer.
    case refused
    /// Apple's deadline of twelve hours is over.
    case tooLate = "too_late"
    case revoked
    case notConsented = "not_consented"
    /// The catalog does not ask for answers.
    case notConfigured = "not_configured"
    /// The ledger does not have the transaction.
    case notInLedger = "not_in_ledger"
}

extension LeasedRefundRequest {
    /// - Parameter catalog: the catalog with the policy for answers to Apple. The policy gives the values that the
    ///   game's report leaves out.
    public func decision(under catalog: Catalog, at now: Timestamp) -> ConsumptionDecision {
        // A transaction that is not in the ledger at Apple's deadline counts as missing for good.
        guard now < request.answerBy else { return .end(delivery == .unknown ? .notInLedger : .tooLate) }
        guard let app = catalog.apps[request.bundleID], app.serverAPI != nil, let policy = app.announcements.consumption
        else {
            return .end(.notConfigured)
        }
        // The catalog has a consumption policy, so a player consents unless the game's report says otherwise.
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
        // An undelivered purchase is not consumed. Apple accepts no consumed share for a subscription.
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

    /// Returns whether the consumed share is more than nothing and less than all. Only then can Apple refund a part.
    private static func isPart(_ milliPercent: Int32?) -> Bool {
        milliPercent.map { 0 < $0 && $0 < ConsumptionReport.wholeInMilliPercent } ?? false
    }
}
