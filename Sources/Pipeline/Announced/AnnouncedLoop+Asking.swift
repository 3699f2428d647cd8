import Fulfillment

/// Asks Apple about an announced purchase by its transaction id, if the evidence is not enough to decide the purchase.
extension AnnouncedLoop {
    /// Asks Apple about a few of the purchases that a delivery left undecided, and returns them with Apple's
    /// description. The other purchases are leased again once their leases are over.
    func askedByName(
        _ leased: [LeasedAnnouncement], besides outcomes: [AnnouncedOutcome], under catalog: Catalog
    ) async -> [LeasedAnnouncement] {
        let decided = Set(outcomes.map(\.transactionID))
        let open = leased.filter { one in
            guard let app = catalog.apps[one.purchase.evidence.bundleID] else { return false }
            return one.isToBeAsked(under: app) && !decided.contains(one.purchase.purchase.transactionID)
        }
        guard !open.isEmpty else { return [] }
        // From here on these purchases only wait for Apple, so that no death of the process counts against them.
        await forgive(open)
        return await withTaskGroup(of: LeasedAnnouncement?.self) { group in
            for one in open.prefix(PipelineLimits.lookUpsAtOnce) {
                group.addTask { await askedByName(one, under: catalog) }
            }
            return await group.reduce(into: []) { if let told = $1 { $0.append(told) } }
        }
    }

    /// Returns the purchase with Apple's description, or without one if Apple does not know the purchase, refuses the
    /// question or refuses the credentials. Then the evidence decides, and a purchase with unreadable evidence is held.
    /// An operator sees the hold, and a release asks Apple again. Returns nil if Apple is in trouble or the app has no
    /// credentials.
    private func askedByName(_ one: LeasedAnnouncement, under catalog: Catalog) async -> LeasedAnnouncement? {
        let (app, environment) = (one.purchase.evidence.bundleID, one.purchase.evidence.environment)
        guard let credentials = catalog.apps[app]?.serverAPI else { return nil }
        let context = StoreQueryContext(
            bundleID: app, credentials: credentials, environment: environment, share: .submission)
        let answer = await worker.desk.verification.queries.transaction(one.purchase.purchase.transactionID, context)
        // A cancelled try brings no answer.
        if Task.isCancelled { return nil }
        switch answer {
        case .answered(let told): return one.told(told)
        case .notFound, .refused, .blocked: return one.told(nil)
        case .trouble: return nil
        }
    }
}
