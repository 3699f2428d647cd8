/// Judges the workers' reports to Apple about delivered purchases: finishes, and answers to refund requests.
extension Model {
    /// Checks that workers finish the granted purchases of apps with `finish: after_grant` at Apple, and no other
    /// purchases.
    func finishes() -> [Difference] {
        let early = seen.finished.filter { owners(of: $0).isEmpty || !isFinishable($0) }.sorted().map {
            Difference(.reports, "\($0) was finished at Apple, and granted to nobody")
        }
        let late = granted.keys.filter { id in
            isFinishable(id) && isOfKnownKind(id) && !isDisturbed(id) && !seen.finished.contains(id)
        }.sorted().map { Difference(.reports, "\($0) was granted, and never finished at Apple") }
        return early + late
    }

    /// Checks that each refund request has one event, for the owner of the purchase.
    func refundRequests() -> [Difference] {
        var told: [String: [Event]] = [:]
        var known: Set<String> = []
        for event in seen.events where event.type == "refund.requested" && known.insert(event.id).inserted {
            told[event.transaction ?? "", default: []].append(event)
        }
        var found: [Difference] = []
        let asked = Dictionary(grouping: facts.refundRequests.values) { $0.transactionID }
        for (id, events) in told.sorted(by: { $0.key < $1.key }) where !isUnknown(id) {
            let requests = asked[id] ?? []
            if events.count > requests.count {
                found.append(
                    .init(.reports, "\(events.count) refund.requested of \(id), asked \(requests.count) times"))
            }
            guard requests.allSatisfy(\.isGranted) else { continue }
            found += events.filter { !owners(of: id).contains($0.player) }.map {
                .init(.reports, "refund.requested of \(id) names \($0.player), who does not own it")
            }
        }
        for (id, requests) in asked.sorted(by: { $0.key < $1.key }) where !isUnknown(id) {
            let certain = requests.count(where: isCertain)
            if told[id]?.count ?? 0 < certain {
                found.append(.init(.reports, "\(told[id]?.count ?? 0) refund.requested of \(id), not \(certain)"))
            }
        }
        return found
    }

    /// Checks the answers to refund requests. The answer must be `DELIVERED` for a granted purchase, and must not be
    /// `DELIVERED` for any other purchase.
    func consumptionAnswers() -> [Difference] {
        var found: [Difference] = []
        for (id, answers) in seen.answers.sorted(by: { $0.key < $1.key }) where !isUnknown(id) {
            let isReported = facts.purchases[id].flatMap { facts.apps[$0.bundleID] }?.reports ?? false
            if !isReported || !facts.refundRequests.values.contains(where: { $0.transactionID == id }) {
                found.append(.init(.reports, "Apple was told of \(id), for which nobody asked"))
            }
            if answers.contains(where: \.isDelivered), owners(of: id).isEmpty {
                found.append(.init(.reports, "Apple was told that \(id) is delivered, which nobody has"))
            }
            let parts = Set((facts.reports[id] ?? []).map { Int?.some($0.percentage) } + [nil])
            if let wrong = answers.first(where: { $0.isDelivered && !parts.contains($0.percentage) }) {
                found.append(.init(.reports, "Apple was told that \(wrong.percentage ?? -1) of \(id) is used"))
            }
        }
        for request in facts.refundRequests.values.sorted(by: { $0.transactionID < $1.transactionID }) {
            let id = request.transactionID
            guard request.isGranted, !isDisturbed(id), facts.conditions.now - request.signedAt < 11 * Self.hour,
                let purchase = facts.purchases[id], facts.apps[purchase.bundleID]?.reports ?? false,
                (facts.reports[id] ?? []).allSatisfy(\.isConsented)
            else { continue }
            if seen.answers[id]?.last?.isDelivered != true {
                found.append(.init(.reports, "\(id) is granted, and Apple, who asked, was not told so"))
            }
        }
        return found
    }

    /// Returns true if the worker must publish the event of the request. After a restore that lost the grant, the
    /// worker waits for the grant until `answer_by`, twelve hours after Apple signed the request.
    private func isCertain(_ request: RefundRequest) -> Bool {
        request.isGranted && (!facts.conditions.wasPutBack || facts.conditions.now - request.signedAt < 11 * Self.hour)
    }

    /// Returns the players to whom the purchase was granted, under any id of its goods.
    private func owners(of id: String) -> Set<String> {
        guard let purchase = facts.purchases[id] else { return [] }
        let copies = copies(of: purchase.goods)
        return Set(copies.compactMap { owner(of: $0.id) })
    }

    private func isFinishable(_ id: String) -> Bool {
        guard let purchase = facts.purchases[id], purchase.kind != .autoRenewable else { return false }
        return facts.apps[purchase.bundleID]?.reports ?? false
    }

    /// Returns true if the catalog had the product all the time. Workers finish no purchase of a product whose kind is
    /// unknown.
    private func isOfKnownKind(_ id: String) -> Bool {
        guard let purchase = facts.purchases[id], let app = facts.apps[purchase.bundleID] else { return false }
        return app.status(purchase.productID) == .active && !app.changed.contains(purchase.productID)
    }

    /// Returns true if a refund, an operator, an erasure or Apple may change the workers' reports about the purchase.
    private func isDisturbed(_ id: String) -> Bool {
        guard let purchase = facts.purchases[id] else { return true }
        return isUnknown(id) || isRefunded(purchase.goods) || !refunds(of: purchase).isEmpty
            || facts.conditions.unknownAtApple[id] != nil
            || facts.operators.contains { $0.transactionID == id && [.revoke, .reinstate].contains($0.order) }
    }
}
