import Fulfillment
import NamesAndTimes

struct RefundRequestEntry {
    let request: RefundRequest
    /// The player; nil while the ledger does not know the transaction.
    var player: PlayerID?
    var lease: Int64?
    var tries = 0
    /// The delays that the worker set, in seconds.
    var delays: [Double] = []
    var result: ConsumptionResult?
    var answer: ConsumptionAnswer?
}

struct ConsumptionReportKey: Hashable {
    let transactionID: StoreTransactionID
    let bundleID: BundleID
}

extension InMemoryLedger: OpenRefundRequests {
    public func leaseDueRequests(
        limit: Int, waitSeconds: Double, at now: Timestamp
    ) async throws -> [LeasedRefundRequest] {
        state.update { $0.leaseRequests(limit: limit, isWaiting: waitSeconds > 0, at: now) }
    }

    public func end(
        _ request: LeasedRefundRequest, as result: ConsumptionResult, answer: ConsumptionAnswer?
    ) async throws {
        state.update { state in
            state.change(request) { entry in
                entry.lease = nil
                entry.result = result
                entry.answer = answer
            }
        }
    }

    /// Postpones the request until the test ends all leases. With 0 seconds the request stays due.
    public func putOff(_ request: LeasedRefundRequest, seconds: Double, countsAsTry: Bool) async throws {
        state.update { state in
            let other = state.nextLease()
            state.change(request) { entry in
                entry.lease = seconds > 0 ? other : nil
                entry.delays.append(seconds)
                if !countsAsTry { entry.tries -= 1 }
            }
        }
    }

    public func release(_ request: LeasedRefundRequest) async throws {
        try await putOff(request, seconds: 0, countsAsTry: false)
    }

    public func enter(_ reports: [ConsumptionReport]) async throws -> Durable<[EnteredRecord]> {
        state.update { state in
            for report in reports {
                let key = ConsumptionReportKey(transactionID: report.transactionID, bundleID: report.bundleID)
                state.refundQuestions.reports[key] = report.content
                for id in state.refundQuestions.requests.keys where state.refundQuestions.requests[id]?.key == key {
                    if state.refundQuestions.requests[id]?.result == .notConsented {
                        state.refundQuestions.requests[id]?.result = nil
                    }
                }
            }
        }
        return Durable(reports.map { _ in .entered }, in: nil)
    }

    /// Adds a request as Apple's notification does. Returns its event; nil if the transaction is unknown, or if the
    /// request was added before.
    @discardableResult
    public func enter(_ request: RefundRequest, at now: Timestamp) -> OutcomeEvent? {
        state.update { $0.enter(request, at: now) }
    }

    /// Ends all leases, as if all workers had died long ago.
    public func endRefundRequestLeases() {
        state.update { state in
            for id in state.refundQuestions.requests.keys { state.refundQuestions.requests[id]?.lease = nil }
        }
    }

    /// The delays that the worker set, in seconds.
    public var refundRequestDelays: [Double] {
        state.read { $0.refundQuestions.requests.values.flatMap(\.delays) }
    }

    /// Returns the game server's last report about a purchase.
    public func consumption(
        of transaction: StoreTransactionID, bundleID: BundleID
    ) -> ConsumptionReport.Content? {
        let key = ConsumptionReportKey(transactionID: transaction, bundleID: bundleID)
        return state.read { $0.refundQuestions.reports[key] }
    }

    /// Returns the result of a request, and the answer to Apple.
    public func ending(of id: Identifier) -> (result: ConsumptionResult, answer: ConsumptionAnswer?)? {
        state.read { state in
            state.refundQuestions.requests[id].flatMap { entry in entry.result.map { ($0, entry.answer) } }
        }
    }
}

extension RefundRequestEntry {
    fileprivate var key: ConsumptionReportKey {
        ConsumptionReportKey(transactionID: request.transactionID, bundleID: request.bundleID)
    }
}

extension InMemoryLedger.State {
    private func granted(_ request: RefundRequest) -> GrantedPurchase? {
        let grant =
            refunds.grants[request.transactionID]
            ?? refunds.grantedUnder[request.originalTransactionID].flatMap { refunds.grants[$0] }
            ?? ofPeriod(request).flatMap { refunds.grants[$0] }
        return grant.flatMap {
            $0.bundleID == request.bundleID && $0.environment == request.environment ? $0 : nil
        }
    }

    /// Returns the transaction under which the period of the request is granted or held.
    private func ofPeriod(_ request: RefundRequest) -> StoreTransactionID? {
        request.period.flatMap { view.claims[$0]?.grantedTransaction }
    }

    /// Returns the player who has a hold of the request's purchase. Prefers a hold that is not disputed.
    private func holder(_ request: RefundRequest) -> PlayerID? {
        [request.transactionID, ofPeriod(request)].compactMap(\.self).lazy.compactMap { transaction in
            let all = holds.filter {
                $0.key.transaction == transaction && $0.value.decision.submission.bundleID == request.bundleID
            }
            return (all.first { $0.value.reason != .ownershipDisputed } ?? all.min { $0.key < $1.key })?.key.player
        }.first
    }

    fileprivate mutating func enter(_ request: RefundRequest, at now: Timestamp) -> OutcomeEvent? {
        guard refundQuestions.requests[request.id] == nil else { return nil }
        refundQuestions.requests[request.id] = RefundRequestEntry(request: request)
        return findOwner(of: request, at: now)
    }

    /// Sets the player of a request, and returns the request's event. Returns nil if the ledger does not know the
    /// transaction.
    private mutating func findOwner(of request: RefundRequest, at now: Timestamp) -> OutcomeEvent? {
        let player =
            view.claims[PublishedClaim.id(ofRefundRequest: request.id)]?.player ?? granted(request)?.player
            ?? holder(request)
            ?? view.refusals[request.transactionID]?.sorted().last
        guard let player else { return nil }
        refundQuestions.requests[request.id]?.player = player
        let event = OutcomeEvent.refundRequested(request, by: player, at: now)
        let partition = InMemoryLedger.Partition(topic: "app-store-notifications", number: -1)
        outbox.append(OutboxRow(event, traceparent: nil, of: partition))
        return event
    }

    fileprivate mutating func leaseRequests(limit: Int, isWaiting: Bool, at now: Timestamp) -> [LeasedRefundRequest] {
        let unowned = refundQuestions.requests.values.filter { $0.player == nil && $0.result == nil }
        for entry in unowned where now < entry.request.answerBy { _ = findOwner(of: entry.request, at: now) }
        let due = refundQuestions.requests.filter { _, entry in
            entry.result == nil && entry.lease == nil && (!isWaiting || refundQuestions.reports[entry.key] != nil)
                && (entry.player != nil || now >= entry.request.answerBy)
        }
        return due.keys.sorted().prefix(limit).compactMap { id in
            let lease = nextLease()
            refundQuestions.requests[id]?.lease = lease
            refundQuestions.requests[id]?.tries += 1
            return refundQuestions.requests[id].map { entry in
                LeasedRefundRequest(
                    request: entry.request, delivery: delivery(of: entry.request),
                    report: refundQuestions.reports[entry.key], tries: entry.tries, lease: lease)
            }
        }
    }

    private func delivery(of request: RefundRequest) -> LeasedRefundRequest.Delivery {
        if let grant = granted(request) {
            if grant.revocations.revokedUnits(of: grant.quantity) >= grant.quantity { return .revoked }
            let event = OutcomeEvent.eventID(.granted, transaction: grant.transactionID, revision: 1)
            return .granted(isAcknowledged: !outbox.contains { $0.event.eventID == event })
        }
        let key = RefundKey(
            transactionID: request.transactionID, bundleID: request.bundleID, environment: request.environment)
        if view.refunds[key]?.revocation?.milliPercent == GrantRevocations.whole { return .revoked }
        let isKnown = holder(request) != nil || view.refusals[request.transactionID] != nil
        return isKnown ? .undelivered : .unknown
    }

    /// Changes the entry if the worker still has the lease.
    fileprivate mutating func change(_ request: LeasedRefundRequest, _ body: (inout RefundRequestEntry) -> Void) {
        guard var entry = refundQuestions.requests[request.request.id], entry.lease == request.lease else { return }
        body(&entry)
        refundQuestions.requests[request.request.id] = entry
    }
}

struct RefundQuestions {
    var requests: [Identifier: RefundRequestEntry] = [:]
    var reports: [ConsumptionReportKey: ConsumptionReport.Content] = [:]
}
