import NamesAndTimes

/// The owner of an original transaction or a paid period, read from a published `receipt.granted`, or the player of a
/// refund request, read from a published `refund.requested`.
public struct PublishedClaim: Sendable, Equatable {
    /// The original transaction, the period's claim (`PeriodIdentity`), a restored copy's transaction, or the id of a
    /// refund request's claim.
    public let id: StoreTransactionID
    public let playerID: PlayerID
    public let bundleID: BundleID
    /// The transaction that was published as granted, or whose refund was requested.
    public let transactionID: StoreTransactionID
    /// True if `transactionID` was not granted under the claim itself: the claim is an original transaction's and the
    /// granted transaction is a later one, or the claim is a refund request's.
    private let isWithoutGrant: Bool

    public init(
        _ id: StoreTransactionID, of playerID: PlayerID, in bundleID: BundleID, published: StoreTransactionID,
        isWithoutGrant: Bool = false
    ) {
        self.id = id
        self.playerID = playerID
        self.bundleID = bundleID
        transactionID = published
        self.isWithoutGrant = isWithoutGrant
    }

    /// The transaction that was granted under the claim; nil if there is none.
    public var grantedTransactionID: StoreTransactionID? { isWithoutGrant ? nil : transactionID }

    /// Returns the claims of one published grant: the claim of its original transaction, and the claim of its period if
    /// the transaction pays for one. A restored copy also has a claim under its own id, because other copies of the
    /// original transaction may be granted too.
    public static func claims(
        of transaction: StoreTransactionID, under original: StoreTransactionID, period: StoreTransactionID?,
        playerID: PlayerID, bundleID: BundleID
    ) -> [PublishedClaim] {
        let own = PublishedClaim(
            original, of: playerID, in: bundleID, published: transaction,
            isWithoutGrant: original != transaction)
        let other = period.flatMap { PeriodIdentity.isPeriod($0) ? $0 : nil } ?? transaction
        guard other != original else { return [own] }
        return [own, PublishedClaim(other, of: playerID, in: bundleID, published: transaction)]
    }
}

extension PublishedClaim {
    private static let requestPrefix = "refund request "

    /// True if the claim is a refund request's. No transfer changes such a claim, so its player never changes.
    public var isOfRefundRequest: Bool { id.text.hasPrefix(Self.requestPrefix) }

    /// Returns the claim of a published `refund.requested`. If the database fell back, a worker reads Apple's
    /// notification again, and the purchase may have another owner by then. With this claim the worker publishes the
    /// event for the same player, because an event id has only one content.
    public static func refundRequest(
        event: String, of transaction: StoreTransactionID, playerID: PlayerID, bundleID: BundleID
    ) -> PublishedClaim {
        PublishedClaim(
            id(ofRefundRequest: event), of: playerID, in: bundleID, published: transaction, isWithoutGrant: true)
    }

    /// Returns the id of the claim of a `refund.requested` with this event id. No transaction and no period has such an
    /// id.
    private static func id(ofRefundRequest event: String) -> StoreTransactionID {
        StoreTransactionID(requestPrefix + event)
    }

    /// Returns the id of the claim of the `refund.requested` that one of Apple's notifications causes.
    public static func id(ofRefundRequest notification: Identifier) -> StoreTransactionID {
        id(ofRefundRequest: OutcomeEvent.eventID(refundRequest: notification).description)
    }
}

extension LedgerView {
    /// Returns the player and the transaction of a lost grant of the purchase or of its period; nil if there is none. A
    /// grant is lost if a worker published it and the ledger lacks it.
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

/// A loss of decisions: the database fell back to an earlier state. A worker must enter the lost decisions' published
/// claims again.
public struct LostClaims: Sendable, Equatable {
    /// The time of the state that the database fell back to, or an earlier time.
    public let since: Timestamp
    /// The time at which a worker noticed the loss, by the database's clock.
    public let noticedAt: Timestamp

    public init(since: Timestamp, noticedAt: Timestamp) {
        self.since = since
        self.noticedAt = noticedAt
    }
}

/// The revision of a grant or a subscription in a published event. The worker publishes an event only after PostgreSQL
/// has committed the event's revision.
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

/// The store of claims. After the database fell back to an earlier state, workers enter the lost claims again, from the
/// published events. Every function throws if the database is out of reach.
public protocol PublishedClaims: Sendable {
    /// Enters the claims. The published owner replaces a claim's present owner only if both are true: the present owner
    /// is from before `noticedAt`, and the ledger lacks the published grant. The owners then differ because an operator
    /// transferred the subscription or refused a hold, and the database lost that change. Entering a claim twice
    /// changes nothing.
    /// - Parameters:
    ///   - claims: the claims, each id once, sorted by id.
    ///   - noticedAt: the time at which a worker noticed the loss, by the database's clock.
    func enter(_ claims: [PublishedClaim], noticedAt: Timestamp) async throws

    /// Returns the number of these revisions that the database lacks.
    func countLacking(_ published: [PublishedRevision]) async throws -> Int

    /// Makes a subscription due if the database lacks its published revision. A worker then publishes Apple's next
    /// answer about the subscription even if nothing changed, because the game has a state that the database lost.
    /// - Parameter published: the revisions of subscriptions, each subscription once, sorted by the subscription's id.
    /// - Returns: the number of subscriptions that are due.
    func makeDue(lacking published: [PublishedRevision]) async throws -> Int
}
