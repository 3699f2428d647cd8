import Fulfillment

/// Asks Apple by its id about an announced purchase whose evidence is not enough, before the purchase is decided.
extension AnnouncedLoop {
    /// Returns some of the purchases that a delivery left open, as Apple describes them now. All others are leased
    /// again once their leases are over.
    func askedByName(
        _ leased: [LeasedAnnouncement], besides outcomes: [AnnouncedOutcome], under catalog: Catalog
    ) async -> [LeasedAnnouncement] {
        let decided = Set(outcomes.map(\.transactionID))
        let open = leased.filter { one in
            guard let app = catalog.apps[one.purchase.evidence.bundleID] else { return false }
            return one.isToBeAsked(under: app) && !decided.contains(one.purchase.purchase.transactionID)
        }
        guard !open.isEmpty else { return [] }
        // The purchases only wait from here on.
        await forgive(open)
        return await withTaskGroup(of: LeasedAnnouncement?.self) { group in
            for one in open.prefix(PipelineLimits.lookUpsAtOnce) {
                group.addTask { await askedByName(one, under: catalog) }
            }
            return await group.reduce(into: []) { if let told = $1 { $0.append(told) } }
        }
    }

    /// Returns nil if Apple is in trouble. Without credentials that Apple accepts, the evidence decides. What cannot be
    /// read is held: an operator sees it then, and a release asks again.
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
