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
    /// Returns the next step for the request.
    /// - Parameter catalog: the policy for answers to Apple. It also gives the values that the game's report leaves
    ///   out.
    public func decision(under catalog: Catalog, at now: Timestamp) -> ConsumptionDecision {
        // If the transaction did not come into the ledger before Apple's deadline, it never will.
        guard now < request.answerBy else { return .end(delivery == .unknown ? .notInLedger : .tooLate) }
        guard let app = catalog.apps[request.bundleID], app.serverAPI != nil, let policy = app.announcements.consumption
        else {
            return .end(.notConfigured)
        }
        // A catalog with a consumption policy says that players consented, unless the report says otherwise.
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
        // An undelivered purchase is not consumed. Apple takes no consumed share for a subscription.
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

    /// Returns whether the consumed share is between nothing and all. Only then can Apple refund a part.
    private static func isPart(_ milliPercent: Int32?) -> Bool {
        milliPercent.map { 0 < $0 && $0 < ConsumptionReport.wholeInMilliPercent } ?? false
    }
}
