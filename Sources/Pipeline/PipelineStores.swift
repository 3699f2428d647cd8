import Fulfillment

/// The stores through which a worker reads and writes its database.
public struct PipelineStores: Sendable {
    let ledger: any PurchaseLedger
    let outbox: any UnpublishedEvents
    let parked: any ParkedSubmissions
    let holds: any HeldPurchases
    let subscriptions: any FollowedSubscriptions
    let checkpoints: any OffsetCheckpoints
    let claims: any PublishedClaims
    let announced: any AnnouncedPurchases
    let finishes: any OwedFinishes
    let refundRequests: any OpenRefundRequests

    /// - Parameter checkpoints: the checkpoints of the settings' consumer group.
    public init(
        ledger: any PurchaseLedger, outbox: any UnpublishedEvents, parked: any ParkedSubmissions,
        holds: any HeldPurchases, subscriptions: any FollowedSubscriptions, checkpoints: any OffsetCheckpoints,
        claims: any PublishedClaims,
        announced: any AnnouncedPurchases, finishes: any OwedFinishes, refundRequests: any OpenRefundRequests
    ) {
        self.ledger = ledger
        self.outbox = outbox
        self.parked = parked
        self.holds = holds
        self.subscriptions = subscriptions
        self.checkpoints = checkpoints
        self.claims = claims
        self.announced = announced
        self.finishes = finishes
        self.refundRequests = refundRequests
    }
}

/// The parts that prove purchases: the parser of proofs, and access to Apple.
public struct PipelineVerification: Sendable {
    let parser: any ProofParser
    let verifier: any ReceiptVerifier
    let queries: any StoreQueries
    let apple: any AppleState

    /// - Parameters:
    ///   - parser: reads proofs and checks their signatures, without a request to Apple.
    ///   - queries: requests facts from Apple that the rules need in addition to the answer for a proof.
    ///   - apple: returns whether all of Apple is down. A failure for one submission does not count.
    public init(
        parser: any ProofParser, verifier: any ReceiptVerifier, queries: any StoreQueries, apple: any AppleState
    ) {
        self.parser = parser
        self.verifier = verifier
        self.queries = queries
        self.apple = apple
    }
}
