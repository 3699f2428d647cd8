import NamesAndTimes

/// The owner of an original transaction or a paid period, read from a published `receipt.granted`.
public struct PublishedClaim: Sendable, Equatable {
    /// The original transaction, the period's claim (`PeriodIdentity`), or a restored copy's transaction.
    public let id: StoreTransactionID
    public let playerID: PlayerID
    public let bundleID: BundleID
    /// The transaction that was granted under the claim. Nil where the claim is an original transaction and the grant is one of
    /// its later transactions.
    public let grantedTransactionID: StoreTransactionID?

    public init(
        _ id: StoreTransactionID, of playerID: PlayerID, in bundleID: BundleID, granted: StoreTransactionID?
    ) {
        self.id = id
        self.playerID = playerID
        self.bundleID = bundleID
        grantedTransactionID = granted
    }

    /// Returns what one published grant claims: its original transaction, and its period if it pays for one. A grant of a restored
    /// copy has a claim of its own: other copies may be granted under the original too.
    public static func claims(
        of transaction: StoreTransactionID, under original: StoreTransactionID, period: StoreTransactionID?,
        playerID: PlayerID, bundleID: BundleID
    ) -> [PublishedClaim] {
        let own = PublishedClaim(
            original, of: playerID, in: bundleID, granted: original == transaction ? transaction : nil)
        let other = period.flatMap { PeriodIdentity.isPeriod($0) ? $0 : nil } ?? transaction
        guard other != original else { return [own] }
        return [own, PublishedClaim(other, of: playerID, in: bundleID, granted: transaction)]
    }
}

extension LedgerView {
    /// Returns the player and the transaction that a purchase, or the period that it pays for, was published as granted to and by.
    /// Nil where no such grant was published, and where the ledger has it.
    func lostGrant(
        of judged: JudgedPurchase, in decision: PendingDecision
    ) -> (player: PlayerID, transaction: StoreTransactionID)? {
        let purchase = judged.purchase
        let copy = decision.isDecidedAgain && judged.isCopy ? claims[purchase.transactionID] : nil
        for claim in [claims[purchase.originalTransactionID], copy].compactMap(\.self) {
            if claim.lostTransaction == purchase.transactionID, let player = claim.player {
                return (player, purchase.transactionID)
            }
        }
        guard let claim = decision.period(of: judged).flatMap({ claims[$0] }), let player = claim.player,
            let granted = claim.grantedTransaction, grants[granted] == nil, holds[granted] == nil
        else { return nil }
        return (player, granted)
    }
}

/// A fall back of the database whose published claims are not entered again yet.
public struct LostClaims: Sendable, Equatable {
    /// A time of the state that the database fell back to, or an earlier one.
    public let since: Timestamp
    /// The time at which the fall was noticed, by the database's clock.
    public let noticedAt: Timestamp

    public init(since: Timestamp, noticedAt: Timestamp) {
        self.since = since
        self.noticedAt = noticedAt
    }
}

/// The revision of a grant or a subscription that a published event tells of. The ledger commits a revision before the worker
/// publishes its event.
public struct PublishedRevision: Sendable, Equatable {
    public enum Subject: Sendable, Equatable {
        case grant
        case subscription
    }

    public let subject: Subject
    /// The transaction of the grant, or the original transaction of the subscription.
    public let id: StoreTransactionID
    public let revision: Int32
    /// The time of the event's record.
    public let publishedAt: Timestamp

    public init(_ subject: Subject, _ id: StoreTransactionID, revision: Int32, at publishedAt: Timestamp) {
        self.subject = subject
        self.id = id
        self.revision = revision
        self.publishedAt = publishedAt
    }
}

/// Enters claims that a database lost when it fell back to an earlier state.
public protocol PublishedClaims: Sendable {
    /// A claim that somebody has stays as it is. Entering one again changes nothing. Throws where the database is out of reach.
    /// - Parameter claims: each id once, sorted by it.
    func enter(_ claims: [PublishedClaim]) async throws

    /// Returns how many of these revisions the database lacks. Throws where the database is out of reach.
    func countLacking(_ published: [PublishedRevision]) async throws -> Int

    /// Makes each subscription due of which the database lacks the published revision. Apple's next answer about it is published
    /// even where it changes nothing: the game has a lost state. Throws where the database is out of reach.
    /// - Parameter published: revisions of subscriptions, each subscription once, sorted by it.
    /// - Returns: how many are due.
    func makeDue(lacking published: [PublishedRevision]) async throws -> Int
}
