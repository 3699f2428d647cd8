import Fulfillment
import NamesAndTimes

struct AnnouncedRow {
    enum State: Equatable {
        case waiting
        case decided(AnnouncedOutcome.State)
    }

    var purchase: AnnouncedPurchase
    var state = State.waiting
    var reason: String?
    var awaitsSubmission: Bool
    var hasEvidence = true
    var catalogVersion: Int64 = 0
    var timesHeld: Int32 = 0
    var lease: Int64?
    var suspicion = LeaseSuspicion()

    var isOpen: Bool { state == .waiting || isUnclaimed }
    var isUnclaimed: Bool { state == .decided(.unclaimed) || state == .decided(.ignored) }
    /// True while a hold has the claim on the purchase. The hold may end without a grant.
    var isHeld: Bool { hasEvidence && (state == .decided(.held) || state == .decided(.claimed)) }

    mutating func becomeDue() {
        state = .waiting
        reason = nil
        awaitsSubmission = false
        lease = nil
        suspicion = LeaseSuspicion()
    }

    mutating func end(_ outcome: AnnouncedOutcome, catalogVersion version: Int64) {
        state = .decided(outcome.state)
        reason = outcome.reason
        catalogVersion = max(catalogVersion, version)
        lease = nil
        suspicion = LeaseSuspicion()
        if outcome.state == .held { timesHeld += 1 }
        hasEvidence = hasEvidence && outcome.state != .granted
    }

    mutating func endByGrant() {
        if state != .decided(.held) { end(AnnouncedOutcome(of: purchase, .claimed), catalogVersion: 0) }
        hasEvidence = false
    }
}

struct AnnouncedRows {
    var rows: [StoreTransactionID: AnnouncedRow] = [:]
    var accounts: [AccountTokenKey: ReceivedAccount] = [:]
    var grantsSince: [BundleID: Timestamp] = [:]
    /// True if all purchases so far have waited long enough for a submission.
    var isPatienceOver = false
    var unownedSubscriptions: [StoreTransactionID: UnownedSubscription] = [:]

    /// Makes the purchase due again after a hold has ended without a grant. If `reason` is given, ends the purchase
    /// with it.
    mutating func reopen(_ transaction: StoreTransactionID, refusedFor reason: Reason?) {
        guard let row = rows[transaction], row.isHeld else { return }
        rows[transaction]?.becomeDue()
        guard let reason else { return }
        rows[transaction]?.end(
            AnnouncedOutcome(of: row.purchase, .refused, reason: reason.rawValue), catalogVersion: 0)
    }

    mutating func claim(by settlement: Settlement) {
        claim(settlement.grants.map(\.purchase), isGrant: true)
        claim(settlement.holds.map(\.purchase), isGrant: false)
    }

    mutating func claim(_ purchases: [StorePurchase], isGrant: Bool) {
        for purchase in purchases {
            if isGrant, let row = rows[purchase.transactionID], row.isOpen || row.isHeld {
                rows[purchase.transactionID]?.endByGrant()
            }
            for (id, row) in rows where row.isOpen {
                if id == purchase.transactionID {
                    rows[id]?.end(AnnouncedOutcome(of: row.purchase, .claimed), catalogVersion: 0)
                } else if isGrant, row.purchase.isLaterPeriod(of: purchase.originalTransactionID) {
                    rows[id]?.becomeDue()
                }
            }
        }
    }
}

extension GrantedPurchase {
    fileprivate var app: StoreApp { StoreApp(bundleID, in: environment) }
}

extension AnnouncedPurchase {
    fileprivate var app: StoreApp { StoreApp(evidence.bundleID, in: evidence.environment) }

    fileprivate func isLaterPeriod(of original: StoreTransactionID) -> Bool {
        isRenewal && (purchase.originalTransactionID == original || previousOriginalTransactionID == original)
    }
}

extension InMemoryLedger: AnnouncedPurchases {
    public func leaseDue(under catalog: Catalog, limit: Int) async throws -> [LeasedAnnouncement] {
        state.update { state in
            for app in catalog.apps.values
            where app.announcements.missedPurchases == .grant && state.announced.grantsSince[app.bundleID] == nil {
                // By default workers grant missed purchases of any age. A test may set another time.
                state.announced.grantsSince[app.bundleID] = Timestamp(milliseconds: 0)
            }
            let due = state.announced.rows.filter { _, row in
                state.announced.isDue(row, under: catalog) && !row.suspicion.isSuspect
                    && row.reason != UnclaimedReason.crashed.rawValue
            }
            return due.keys.sorted().prefix(limit).compactMap { state.lease($0) }
        }
    }

    public func leaseSuspect(under catalog: Catalog) async throws -> SuspectLease<LeasedAnnouncement, SetAsidePurchase>
    {
        state.update { state in
            let suspect = state.announced.rows.filter { _, row in
                state.announced.isDue(row, under: catalog) && row.suspicion.isSuspect
            }.keys.min()
            guard let suspect, let deaths = state.announced.rows[suspect]?.suspicion.beginIsolation() else {
                return suspect.flatMap { state.lease($0) }.map { .isolated($0) } ?? .none
            }
            guard let purchase = state.announced.rows[suspect]?.purchase else { return .none }
            state.announced.rows[suspect]?.end(
                AnnouncedOutcome(of: purchase, .unclaimed, reason: UnclaimedReason.crashed.rawValue),
                catalogVersion: catalog.version)
            state.announced.rows[suspect]?.awaitsSubmission = false
            return .setAside(
                SetAsidePurchase(
                    transactionID: suspect, bundleID: purchase.evidence.bundleID, source: purchase.source,
                    deaths: deaths))
        }
    }

    public func forgive(_ leased: [LeasedAnnouncement]) async throws {
        state.update { state in
            for one in leased {
                let id = one.purchase.purchase.transactionID
                guard state.announced.rows[id]?.lease == one.lease else { continue }
                state.announced.rows[id]?.suspicion.released()
            }
        }
    }

    /// Ends all leases, as if all workers had died long ago.
    public func endAnnouncementLeases() {
        state.update { state in
            for id in state.announced.rows.keys { state.announced.rows[id]?.lease = nil }
        }
    }

    public func deliver(
        _ leased: [LeasedAnnouncement], under catalog: Catalog, at now: Timestamp
    ) async throws -> [AnnouncedOutcome] {
        state.update { state in leased.compactMap { state.deliver($0, under: catalog, at: now) } }
    }

    /// Adds purchases as a notification does.
    public func announce(_ purchases: [AnnouncedPurchase]) {
        state.update { state in
            for var purchase in purchases where state.announced.rows[purchase.purchase.transactionID] == nil {
                purchase.isRenewal = purchase.isRenewal || purchase.previousOriginalTransactionID != nil
                let id = purchase.purchase.transactionID
                let hasOwner = state.isLetIn(purchase)
                var row = AnnouncedRow(purchase: purchase, awaitsSubmission: !(purchase.isRenewal && hasOwner))
                if state.view.grants[id] != nil {
                    row.endByGrant()
                } else if state.view.holds[id] != nil {
                    row.end(AnnouncedOutcome(of: purchase, .claimed), catalogVersion: 0)
                }
                state.announced.rows[id] = row
            }
        }
    }

    /// Ends the wait of every announced purchase for a submission.
    public func endPatience() { state.update { $0.announced.isPatienceOver = true } }

    public func player(of token: AccountTokenKey) -> PlayerID? {
        state.read { $0.announced.accounts[token]?.account.player }
    }

    /// Returns true if the worker has found no player for the announced purchase.
    public func isUnclaimed(_ transaction: StoreTransactionID) -> Bool {
        state.read { $0.announced.rows[transaction]?.isUnclaimed ?? false }
    }

    public func setGrantsSince(_ time: Timestamp, of bundleID: BundleID) {
        state.update { $0.announced.grantsSince[bundleID] = time }
    }
}

extension ReceivedAccount {
    fileprivate func isAhead(of other: ReceivedAccount) -> Bool {
        partition == other.partition
            ? offset >= other.offset && timestamp >= other.timestamp : timestamp > other.timestamp
    }
}

extension InMemoryLedger: PlayerAccounts {
    public func apply(_ accounts: [ReceivedAccount]) async throws -> Durable<[EnteredRecord]> {
        state.update { state in
            for account in accounts {
                let token = account.account.token
                if let known = state.announced.accounts[token], known.isAhead(of: account) { continue }
                state.announced.accounts[token] = account
                state.view.tokens[token, default: AccountTokenFacts()].told = account.account.player
                for (id, row) in state.announced.rows where row.isUnclaimed && row.purchase.tokenKey == token {
                    state.announced.rows[id]?.becomeDue()
                }
            }
        }
        return Durable(accounts.map { _ in .entered }, in: nil)
    }
}

extension AnnouncedRows {
    fileprivate func isDue(_ row: AnnouncedRow, under catalog: Catalog) -> Bool {
        guard row.lease == nil else { return false }
        if row.state == .waiting { return !row.awaitsSubmission || isPatienceOver }
        return row.isUnclaimed && row.hasEvidence && row.catalogVersion < catalog.version
    }
}

extension InMemoryLedger.State {
    fileprivate mutating func lease(_ id: StoreTransactionID) -> LeasedAnnouncement? {
        let lease = nextLease()
        announced.rows[id]?.lease = lease
        announced.rows[id]?.suspicion.leases += 1
        return announced.rows[id].map {
            LeasedAnnouncement(
                purchase: $0.purchase, timesHeld: $0.timesHeld, lease: lease, isPublished: isPublished($0.purchase))
        }
    }

    func isLetIn(_ original: StoreTransactionID, in app: StoreApp) -> Bool {
        refunds.grants.values.contains {
            ($0.originalTransactionID == original || $0.transactionID == original) && $0.app == app
        }
    }

    fileprivate func isLetIn(_ told: AnnouncedPurchase) -> Bool {
        refunds.grants.values.contains {
            (told.isLaterPeriod(of: $0.originalTransactionID ?? $0.transactionID)
                || told.isLaterPeriod(of: $0.transactionID)) && $0.app == told.app
        }
    }

    fileprivate mutating func deliver(
        _ leased: LeasedAnnouncement, under catalog: Catalog, at now: Timestamp
    ) -> AnnouncedOutcome? {
        let purchase = leased.purchase
        let id = purchase.purchase.transactionID
        guard let row = announced.rows[id], row.lease == leased.lease, row.isOpen else { return nil }
        let original = purchase.purchase.originalTransactionID
        var ownership = AnnouncedOwnership(
            owner: view.claims[original]?.player
                ?? purchase.previousOriginalTransactionID.flatMap {
                    view.claimApps[$0]?.contains(purchase.app) == true ? view.claims[$0]?.player : nil
                },
            isLetIn: isLetIn(purchase),
            told: purchase.tokenKey.flatMap { announced.accounts[$0]?.account.player },
            grantsSince: announced.grantsSince[purchase.evidence.bundleID],
            isRefunded: view.refunds[
                RefundKey(
                    transactionID: id, bundleID: purchase.evidence.bundleID,
                    environment: purchase.evidence.environment)]?.revocation != nil)
        let period = purchase.period(catalog).flatMap { view.claims[$0] }
        if period?.names(id) == true { ownership.owner = period?.player }
        ownership.isPublished = isPublished(purchase)
        let outcome: AnnouncedOutcome
        switch leased.judge(under: catalog, ownership, at: now) {
        case .deliver(let decision): outcome = settle(leased, decision)
        case .asks: return nil
        case .erased(let pseudonym): outcome = AnnouncedOutcome(erased: purchase, pseudonym)
        case .refused(let reason, let player):
            outcome = AnnouncedOutcome(of: purchase, .refused, reason: reason.rawValue, player: player)
        case .unclaimed(let reason): outcome = AnnouncedOutcome(of: purchase, .unclaimed, reason: reason.rawValue)
        case .ignored: outcome = AnnouncedOutcome(of: purchase, .ignored)
        }
        announced.rows[id]?.end(outcome, catalogVersion: catalog.version)
        return outcome
    }

    private mutating func settle(_ leased: LeasedAnnouncement, _ decision: PendingDecision) -> AnnouncedOutcome {
        let settlement = decision.settle(in: &view)
        for grant in settlement.grants { enter(grant, of: decision) }
        for hold in settlement.holds { enter(hold, of: decision) }
        endHolds(of: decision, settlement)
        announced.claim(by: settlement)
        var outcome = leased.outcome(of: settlement, for: decision)
        outcome.subscriptions = hear(decision, settlement.outcomes)
        let partition = InMemoryLedger.Partition(topic: LeasedAnnouncement.topic, number: 0)
        for event in outcome.owned { outbox.append(OutboxRow(event, traceparent: nil, of: partition)) }
        return outcome
    }
}
