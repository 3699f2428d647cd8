import Fulfillment

/// Where the pipeline keeps what it must not forget: one database, seen from its sides.
public struct PipelineStores: Sendable {
    let ledger: any PurchaseLedger
    let outbox: any UnpublishedEvents
    let parked: any ParkedSubmissions
    let holds: any HeldPurchases
    let checkpoints: any OffsetCheckpoints

    /// - Parameter checkpoints: of the consumer group that the settings name.
    public init(
        ledger: any PurchaseLedger, outbox: any UnpublishedEvents, parked: any ParkedSubmissions,
        holds: any HeldPurchases, checkpoints: any OffsetCheckpoints
    ) {
        self.ledger = ledger
        self.outbox = outbox
        self.parked = parked
        self.holds = holds
        self.checkpoints = checkpoints
    }
}

/// Who proves purchases: the proofs by themselves, and Apple.
public struct PipelineVerification: Sendable {
    let parser: any ProofParser
    let verifier: any ReceiptVerifier
    let apple: any AppleState

    /// - Parameters:
    ///   - parser: reads and proves receipts without asking anyone.
    ///   - apple: tells an outage from one submission's trouble.
    public init(parser: any ProofParser, verifier: any ReceiptVerifier, apple: any AppleState) {
        self.parser = parser
        self.verifier = verifier
        self.apple = apple
    }
}
