import NamesAndTimes

/// The store of purchases that Apple announced and nobody submitted. All replicas share it; times are the database's.
///
/// Every function throws if the database is out of reach. A lease ends by itself.
public protocol AnnouncedPurchases: Sendable {
    /// Leases up to `limit` due purchases, oldest first, then purchases that an older catalog left unclaimed. It leases
    /// no suspect: a purchase that was leased three times without an end.
    func leaseDue(under catalog: Catalog, limit: Int) async throws -> [LeasedAnnouncement]

    /// Leases the suspect that is due first, or sets it aside. Call it while no other purchase is leased.
    func leaseSuspect(under catalog: Catalog) async throws -> SuspectLease<LeasedAnnouncement, SetAsidePurchase>

    /// Stops counting these leases against their purchases: the purchases only wait for the database, or their delivery
    /// failed while the process lives. The leases end by themselves.
    func forgive(_ leased: [LeasedAnnouncement]) async throws

    /// Delivers each purchase to its player, or stores the reason against it. One SQL transaction makes that durable
    /// with its events.
    ///
    /// A purchase has no outcome if its lease is over, or if a submission claimed it meanwhile. A purchase that a
    /// worker must first ask Apple about (`isToBeAsked`) has no outcome either, and stays leased.
    func deliver(
        _ leased: [LeasedAnnouncement], under catalog: Catalog, at now: Timestamp
    ) async throws -> [AnnouncedOutcome]
}

/// The database's facts about the owner of a purchase, read with the claim of its original transaction locked.
public struct AnnouncedOwnership: Sendable, Equatable {
    /// The owner of the original transaction; nil if there is none.
    public var owner: PlayerID?
    /// True if a transaction of the original transaction was granted before: its owner passed the rules then.
    public var isLetIn: Bool
    /// The player whom `player-accounts` names for the purchase's token; nil if it names none.
    public var told: PlayerID?
    /// The time at which the app's catalog first granted missed purchases; nil if it never did.
    public var grantsSince: Timestamp?
    /// True if Apple refunded the whole purchase.
    public var isRefunded: Bool
    /// True if Apple reversed a refund of the purchase after it signed the stored purchase, and after the refund that
    /// the stored purchase shows.
    public var isReversed = false
    /// True if the database fell back after Apple announced the purchase: a lost grant may have been published.
    public var isDecidedAgain = false
    /// True if the purchase's grant to `owner` was published and lost by the database: `owner` gets the purchase.
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
    /// The ledger settles the decision.
    case deliver(PendingDecision)
    /// The worker must first ask Apple for the transaction by its id.
    case asks
    /// The rules refuse the purchase to this player, or to every player if nil.
    case refused(Reason, PlayerID?)
    case unclaimed(UnclaimedReason)
    case ignored
    /// The owner was erased: nobody gets an event.
    case erased(PlayerID)
}

extension LeasedAnnouncement {
    /// Judges and settles the purchase against an empty ledger, without an owner and with one, and discards the
    /// results. `PendingDecision.rehearse` says why.
    public func rehearse(under catalog: Catalog, at now: Timestamp) {
        let somebody = AnnouncedOwnership(owner: PlayerID("rehearsal"), isLetIn: true, grantsSince: purchase.toldAt)
        for ownership in [AnnouncedOwnership(), somebody] {
            if case .deliver(let decision) = judge(under: catalog, ownership, at: now) { decision.rehearse() }
        }
    }

    private var bundleID: BundleID { purchase.evidence.bundleID }
    private var token: String? { purchase.purchase.appAccountToken }

    /// Judges the purchase by the rules of a submission that has the token that Apple signed.
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
        // A purchase that is decided again may have a lost grant: its settlement settles the refund too.
        let isRefunded = ownership.isRefunded && !ownership.isDecidedAgain
        if let reason = reasonAgainstAnybody(under: appTerms, ownership, now) ?? (isRefunded ? .cancelled : nil) {
            if reason == .cancelled, !isRefunded, isShownRefunded, isToBeAsked(under: app) { return .asks }
            return .refused(reason, nil)
        }
        switch app.announcements.missedPurchases {
        case .off: return purchase.isRenewal ? .unclaimed(.notDelivered) : .ignored
        case .report: return .unclaimed(.notDelivered)
        // The loss of the grant may have become known after the lease began.
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

    /// Returns whether the purchase was bought at `time` or later. A purchase time that cannot be read counts as later,
    /// because a person decides about such a purchase.
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
                // No submitted proof has this digest: a submission of the same transaction is another submission.
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
