import Fulfillment
import NamesAndTimes

/// Makes purchases and decisions, with defaults for each value that a test does not name.
enum Sample {
    static let bundle: BundleID = "com.example.game"
    static let topic = "receipt-submissions"
    /// 2026-11-20T12:00:00Z.
    static let noon = Timestamp(milliseconds: 1_795_176_000_000)

    static func purchase(
        _ id: String, original: String? = nil, product: String = "gold", quantity: Int32 = 1,
        expires: Timestamp? = nil, at purchasedAt: Timestamp = noon
    ) -> StorePurchase {
        StorePurchase(
            transactionID: Identifier(id), originalTransactionID: Identifier(original ?? id),
            productID: Identifier(product), quantity: quantity, purchasedAt: purchasedAt, expiresAt: expires)
    }

    static func judged(
        _ purchase: StorePurchase, _ kind: ProductKind? = .consumable,
        _ verdict: JudgedPurchase.Verdict = .grant(payload: #"{"gold":555}"#)
    ) -> JudgedPurchase {
        JudgedPurchase(purchase: purchase, kind: kind, verdict: verdict)
    }

    static func position(_ offset: Int64, partition: Int32 = 0, at time: Timestamp = noon) -> RecordPosition {
        RecordPosition(
            topic: topic, partition: partition, offset: offset, timestamp: time,
            content: Digest256(hashing: Array("record \(partition) \(offset)".utf8)))
    }

    static func submission(
        _ id: String, player: String, order: String? = nil, token: String? = nil
    ) -> Submission {
        Submission(
            submissionID: Identifier(id), playerID: Identifier(player), bundleID: bundle, proof: .receipt("MIIB"),
            orderID: order, appAccountToken: token)
    }

    static func decision(
        _ purchases: [JudgedPurchase], player: String = "player-1", offset: Int64, submission: String? = nil,
        proof: String? = nil, partition: Int32 = 0, remembers: Bool = false, at time: Timestamp = noon,
        shown: [NotifiedTransaction] = [], fallBackCount: Int = 0
    ) -> PendingDecision {
        decision(
            .each(purchases), player: player, offset: offset, submission: submission, proof: proof,
            partition: partition, remembers: remembers, at: time, shown: shown, fallBackCount: fallBackCount)
    }

    static func decision(
        _ verdict: Verdict, player: String = "player-1", offset: Int64, submission: String? = nil,
        proof: String? = nil, partition: Int32 = 0, remembers: Bool = false, at time: Timestamp = noon,
        sentAt: Timestamp? = nil, trace: DecisionTrace? = nil, order: String? = nil, isDecidedAgain: Bool = false,
        shown: [NotifiedTransaction] = [], token: String? = nil, tokenUse: AccountTokenUse = .none,
        risk: RiskThresholds? = nil, fallBackCount: Int = 0
    ) -> PendingDecision {
        PendingDecision(
            submission: self.submission(
                submission ?? "s-\(partition)-\(offset)", player: player, order: order, token: token),
            position: position(offset, partition: partition, at: sentAt ?? time),
            proof: digest(proof ?? "proof \(player) \(partition) \(offset)"), verdict: verdict,
            environment: .production,
            evidence: remembers ? receipt(verdict.purchases) : nil, decidedAt: time, catalogVersion: 1,
            traceparent: nil, risk: risk, tokenUse: tokenUse, trace: trace, isDecidedAgain: isDecidedAgain,
            fallBackCount: fallBackCount, shown: shown)
    }

    static let appleTry = AppleTry(
        at: noon, endpoint: "verifyReceipt", environment: .production, result: "status", status: 21005,
        milliseconds: 103)

    static func digest(_ text: String) -> Digest256 { Digest256(hashing: Array(text.utf8)) }

    static func receipt(_ purchases: [StorePurchase]) -> GenuineReceipt {
        GenuineReceipt(bundleID: bundle, appAppleID: 7, environment: .production, purchases: purchases)
    }

    static func query(
        for decision: PendingDecision, redelivered: Bool = true
    ) -> RecallQuery {
        RecallQuery(
            position: decision.position, proof: decision.proof, mayBeRedelivered: redelivered)
    }
}

/// Gives answers without the database's history, for tests that do not need the history.
extension PurchaseLedger {
    func recall(_ query: RecallQuery) async throws(LedgerClosed) -> Recollection { try await recollect(query).value }
    func record(_ decision: PendingDecision) async throws(LedgerClosed) -> RecordedOutcome {
        try await settle(decision).value
    }
}

extension RecordedOutcome {
    var events: [OutcomeEvent] {
        if case .events(let events) = self { events } else { [] }
    }

    var granted: [OutcomeEvent] { events.filter { $0.kind == .granted } }
    /// The reason of the submission's own event.
    var reason: Reason? { events.last?.reason }
}

/// Records all decisions concurrently, and returns the outcomes in the order of `decisions`.
func recordAll(_ decisions: [PendingDecision], in ledger: some PurchaseLedger) async throws -> [RecordedOutcome] {
    try await withThrowingTaskGroup(of: (Int, RecordedOutcome).self) { group in
        for (index, decision) in decisions.enumerated() {
            group.addTask { (index, try await ledger.record(decision)) }
        }
        var outcomes: [Int: RecordedOutcome] = [:]
        for try await (index, outcome) in group { outcomes[index] = outcome }
        return decisions.indices.compactMap { outcomes[$0] }
    }
}
