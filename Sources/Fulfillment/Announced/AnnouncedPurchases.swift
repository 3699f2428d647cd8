import NamesAndTimes

/// The store of purchases that Apple announced and nobody submitted. All replicas share the store. Due times and leases
/// follow the database's clock.
///
/// Every function throws if the database is out of reach. A lease ends at its own end time, without a call.
public protocol AnnouncedPurchases: Sendable {
    /// Leases up to `limit` purchases: first due purchases, oldest first, then unclaimed purchases that a worker last
    /// judged under an older catalog. Leases no suspect. A suspect is a purchase whose last three leases ended without
    /// a result.
    func leaseDue(under catalog: Catalog, limit: Int) async throws -> [LeasedAnnouncement]

    /// Leases the suspect that is due first. If several workers died while they delivered the suspect alone (in
    /// isolation), sets the suspect aside instead. Call this function while this process works on no other announced
    /// purchase.
    func leaseSuspect(under catalog: Catalog) async throws -> SuspectLease<LeasedAnnouncement, SetAsidePurchase>

    /// Stops counting these leases against their purchases. Call this function if the purchases only wait for the
    /// database, or if their delivery failed while the process lived on. The leases end by themselves.
    func forgive(_ leased: [LeasedAnnouncement]) async throws

    /// Delivers each purchase to its player, or stores why the player does not get it. One SQL transaction commits the
    /// results with their events.
    ///
    /// Returns no outcome for a purchase if its lease is over, or if a submission brought the purchase meanwhile.
    /// Returns no outcome either if `isToBeAsked` is true for the purchase. Then the purchase stays leased.
    func deliver(
        _ leased: [LeasedAnnouncement], under catalog: Catalog, at now: Timestamp
    ) async throws -> [AnnouncedOutcome]
}

/// The database's facts about the owner of a purchase. The worker reads these facts after it has locked the claim (the
/// row that names the owner) of the purchase's original transaction.
public struct AnnouncedOwnership: Sendable, Equatable {
    /// The owner of the original transaction; nil if there is none.
    public var owner: PlayerID?
    /// True if a transaction with the same original transaction was granted before, so that the owner has passed the
    /// rules already. A transaction of an earlier subscription that the purchase's subscription continues counts too.
    public var isLetIn: Bool
    /// The player whom a record of `player-accounts` names for the purchase's token; nil if there is no such record.
    public var told: PlayerID?
    /// The time since which the app's catalog grants missed purchases, which nobody submitted; nil if it never did.
    public var grantsSince: Timestamp?
    /// True if Apple refunded the whole purchase.
    public var isRefunded: Bool
    /// True if Apple reversed a refund of the purchase. A reversal counts if it is not older than Apple's announcement,
    /// nor than the refund that the stored purchase shows.
    public var isReversed = false
    /// True if the database fell back to an earlier state after Apple announced the purchase. So a worker may have
    /// published a grant that the database no longer has.
    public var isDecidedAgain = false
    /// True if a worker published a grant of the purchase to `owner`, and the database lost the grant. Then `owner`
    /// gets the purchase.
    public var isPublished = false

    public init(
        owner: PlayerID? = nil, isLetIn: Bool = false, told: PlayerID? = nil, grantsSince: Timestamp? = nil,
        isRefunded: Bool = false
    ) {
        self.owner = owner
        self.isLetIn = isLetIn
        self.told = told
        self.grantsSince = grantsSince
        self.isRefunded = isRefunded
    }
}

public enum AnnouncedJudgement: Sendable {
    /// The decision about the purchase. The worker must still compare it with the ledger's rows.
    case deliver(PendingDecision)
    /// The worker must first ask Apple for the transaction by its id.
    case asks
    /// The rules refuse the purchase to this player, or to every player if the player is nil.
    case refused(Reason, PlayerID?)
    case unclaimed(UnclaimedReason)
    case ignored
    /// The owner was erased, and the ledger has only this pseudonym. So nobody gets an event.
    case erased(PlayerID)
}

extension LeasedAnnouncement {
    /// Judges and settles the purchase against an empty ledger, first without an owner and then with an owner. Discards
    /// the results. `PendingDecision.rehearse` explains why.
    public func rehearse(under catalog: Catalog, at now: Timestamp) {
        let somebody = AnnouncedOwnership(owner: PlayerID("rehearsal"), isLetIn: true, grantsSince: purchase.toldAt)
        for ownership in [AnnouncedOwnership(), somebody] {
            if case .deliver(let decision) = judge(under: catalog, ownership, at: now) { decision.rehearse() }
        }
    }

    private var bundleID: BundleID { purchase.evidence.bundleID }
    private var token: String? { purchase.purchase.appAccountToken }

    /// Returns the judgement of the purchase, as if a submission with the account token that Apple signed had brought
    /// the purchase.
    public func judge(
        under catalog: Catalog, _ ownership: AnnouncedOwnership, at now: Timestamp
    ) -> AnnouncedJudgement {
        if let owner = ownership.owner, owner.isPseudonym { return .erased(owner) }
        guard let appTerms = catalog.terms[bundleID] else { return .unclaimed(.unknownApp) }
        let app = appTerms.app
        if purchase.isRenewal, ownership.isLetIn, let owner = ownership.owner {
            if isToBeAsked(under: app) { return .asks }
            return decision(for: owner, terms(isRenewal: true), under: appTerms, ownership, now)
        }
        // If `isDecidedAgain` is true, the database may have lost a grant of the purchase. Then the refund is no reason
        // to refuse the purchase here, because the settlement deals with the refund.
        let isRefunded = ownership.isRefunded && !ownership.isDecidedAgain
        if let reason = reasonAgainstAnybody(under: appTerms, ownership, now) ?? (isRefunded ? .cancelled : nil) {
            if reason == .cancelled, !isRefunded, isShownRefunded, isToBeAsked(under: app) { return .asks }
            return .refused(reason, nil)
        }
        switch app.announcements.missedPurchases {
        case .off: return purchase.isRenewal ? .unclaimed(.notDelivered) : .ignored
        case .report: return .unclaimed(.notDelivered)
        // The worker may have learnt of the lost grant after it leased the purchase.
        case .grant where isToBeAsked(under: app) || ownership.isPublished && mayBeAsked(under: app): return .asks
        case .grant: break
        }
        guard let since = ownership.grantsSince, mayBeBought(since: max(since, app.cutover ?? since)) else {
            return .unclaimed(.boughtBefore)
        }
        let named =
            ownership.isPublished
            ? nil : ownership.told ?? (app.accountTokenIs == .playerID ? token.map { PlayerID($0) } : nil)
        guard let player = named ?? ownership.owner else { return .unclaimed(.unknownPlayer) }
        var terms = terms(isRenewal: false)
        terms.disputesOwner = ownership.owner.map { $0 != player } ?? false
        return decision(for: player, terms, under: appTerms, ownership, now)
    }

    /// Returns whether the player bought the purchase at `time` or later. An unreadable purchase time counts as later,
    /// because a person decides about a purchase with an unreadable fact.
    private func mayBeBought(since time: Timestamp) -> Bool {
        purchase.purchase.hasUnreadablePurchaseTime || purchase.purchase.purchasedAt >= time
    }

    private func terms(isRenewal: Bool) -> AnnouncedTerms {
        AnnouncedTerms(
            source: purchase.source, isRenewal: isRenewal,
            isInGrace: purchase.graceExpiresAt.map { $0 > purchase.toldAt } ?? false)
    }

    private func decision(
        for player: PlayerID, _ terms: AnnouncedTerms, under appTerms: AppTerms, _ ownership: AnnouncedOwnership,
        _ now: Timestamp
    ) -> AnnouncedJudgement {
        let app = appTerms.app
        let judge = judge(of: player, terms, under: appTerms, ownership, now)
        if let reason = judge.reasonAgainst(purchase.evidence) { return .refused(reason, player) }
        return .deliver(
            PendingDecision(
                submission: judge.submission, position: position,
                // No submitted proof has this digest. So a later submission of the transaction gets a different
                // identity.
                proof: Digest256(hashing: Array("announced \(purchase.purchase.transactionID.text)".utf8)),
                verdict: .each([judge.judged(purchase.purchase, in: purchase.evidence)]),
                environment: purchase.evidence.environment, evidence: nil, decidedAt: now,
                catalogVersion: appTerms.catalogVersion, traceparent: nil, risk: app.risk,
                tokenUse: terms.isRenewal ? .none : app.accountTokenUse,
                finishesGrants: app.announcements.finishesGrants,
                subscriptions: ToldSubscriptions(announced: purchase, under: app), announced: terms,
                isDecidedAgain: ownership.isDecidedAgain))
    }

    /// Returns the reason that refuses the purchase to every player; nil if there is none.
    private func reasonAgainstAnybody(
        under appTerms: AppTerms, _ ownership: AnnouncedOwnership, _ now: Timestamp
    ) -> Reason? {
        let judge = judge(of: Identifier(""), terms(isRenewal: false), under: appTerms, ownership, now)
        if purchase.evidence.environment == .sandbox, appTerms.app.sandbox == .reject { return .sandboxNotAllowed }
        let judged = judge.judged(purchase.purchase, in: purchase.evidence, but: [.bindingMismatch])
        if case .reject(let reason) = judged.verdict { return reason }
        return nil
    }

    private func judge(
        of player: PlayerID, _ terms: AnnouncedTerms, under appTerms: AppTerms, _ ownership: AnnouncedOwnership,
        _ now: Timestamp
    ) -> Judge {
        Judge(
            submission: Submission(
                submissionID: purchase.submissionID, playerID: player, bundleID: bundleID,
                proof: .transactionID(purchase.purchase.transactionID), appAccountToken: token),
            under: appTerms, recordTimestamp: purchase.toldAt, now: now, signature: .proven, announced: terms,
            isDecidedAgain: ownership.isDecidedAgain)
    }
}
