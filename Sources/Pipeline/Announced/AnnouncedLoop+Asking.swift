import Fulfillment

/// Requests announced purchases from Apple by transaction id, if their evidence is not enough to decide.
extension AnnouncedLoop {
    /// Requests from Apple a few of the purchases that a delivery left undecided. Returns each purchase that can be
    /// delivered now, with Apple's description. The loop leases any other purchase again when that purchase's lease
    /// ends.
    func askedByName(
        _ leased: [LeasedAnnouncement], besides outcomes: [AnnouncedOutcome], under catalog: Catalog
    ) async -> [LeasedAnnouncement] {
        let decided = Set(outcomes.map(\.transactionID))
        let open = leased.filter { one in
            guard let app = catalog.apps[one.purchase.evidence.bundleID] else { return false }
            return one.isToBeAsked(under: app) && !decided.contains(one.purchase.purchase.transactionID)
        }
        guard !open.isEmpty else { return [] }
        // The worker now only waits for Apple. A death during this wait must not count against these purchases.
        await forgive(open)
        return await withTaskGroup(of: LeasedAnnouncement?.self) { group in
            for one in open.prefix(PipelineLimits.lookUpsAtOnce) {
                group.addTask { await askedByName(one, under: catalog) }
            }
            return await group.reduce(into: []) { if let told = $1 { $0.append(told) } }
        }
    }

    /// Requests the purchase from Apple, and returns the purchase with Apple's description. If Apple does not know the
    /// purchase, or refuses the request for good, returns the purchase without a description. The evidence then
    /// decides, and a purchase with unreadable evidence is held. If an operator releases that hold, the worker requests
    /// the purchase again. Returns nil if Apple or the network fails, if the app's credentials are missing, or if Apple
    /// refuses them.
    private func askedByName(_ one: LeasedAnnouncement, under catalog: Catalog) async -> LeasedAnnouncement? {
        let (app, environment) = (one.purchase.evidence.bundleID, one.purchase.evidence.environment)
        guard let credentials = catalog.apps[app]?.serverAPI else { return nil }
        let context = StoreQueryContext(
            bundleID: app, credentials: credentials, environment: environment, share: .submission)
        let answer = await worker.desk.verification.queries.transaction(one.purchase.purchase.transactionID, context)
        // A cancelled request has no answer.
        if Task.isCancelled { return nil }
        switch answer {
        case .answered(let told): return one.told(told)
        case .notFound, .refused: return one.told(nil)
        case .trouble, .blocked: return nil
        }
    }
}
