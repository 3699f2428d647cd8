import Encodings
import NamesAndTimes

extension OutcomeEvent {
    /// The most transactions that an event lists. `transactions_total` counts all transactions.
    public static let maximumListedTransactions = 100

    /// Makes the event of a grant, which is the transaction's first revision.
    static func granted(
        _ purchase: StorePurchase, payload: String?, to submission: Submission,
        from source: PurchaseSource = .submission,
        environment: StoreEnvironment, at now: Timestamp, risk: [RiskSignal] = [], repair: Cause? = nil,
        transactions: [TransactionOutcome]
    ) -> OutcomeEvent {
        let kind = Kind.granted
        let id = eventID(kind, transaction: purchase.transactionID, revision: 1)
        var json = JSONWriter()
        json.beginObject()
        json.begin(kind, id: id, at: now)
        json.write(submission, from: source)
        json.member("transaction_id", purchase.transactionID.text)
        json.member("original_transaction_id", purchase.originalTransactionID.text)
        json.member("product_id", purchase.productID.text)
        json.name("quantity")
        json.number(purchase.quantity)
        json.member("environment", environment.rawValue)
        json.member("purchased_at", purchase.purchasedAt.rfc3339)
        json.member("expires_at", ifPresent: purchase.expiresAt?.rfc3339)
        json.writeTold(of: purchase)
        json.name("revision")
        json.number(1)
        if let payload {
            json.name("payload")
            json.raw(payload)
        }
        json.write(risk)
        json.member("detail_code", ifPresent: repair?.code)
        json.write(transactions, first: purchase.transactionID)
        json.endObject()
        return OutcomeEvent(
            eventID: id, kind: kind, reason: nil, playerID: submission.playerID, bundleID: submission.bundleID,
            subject: purchase.transactionID, occurredAt: now, risk: risk, value: json.bytes)
    }

    /// Makes the event of a rejection or a hold. If nobody submitted the purchase, the event's id depends on the
    /// transaction. Otherwise the id depends on the submission's record.
    static func answer(
        _ kind: Kind, reason: Reason, to decision: PendingDecision, risk: [RiskSignal] = [],
        transactions: [TransactionOutcome]
    ) -> OutcomeEvent {
        let id =
            if decision.source != .submission, let transaction = transactions.first?.transactionID {
                eventID(kind, transaction: transaction, timesHeld: decision.position.offset)
            } else {
                eventID(kind, submission: decision.identity, position: decision.position)
            }
        return answer(
            kind, id: id, decision.refusal(for: reason, of: transactions), to: decision.submission,
            from: decision.source, at: decision.decidedAt,
            risk: risk, transactions: transactions)
    }

    static func rejected(
        _ refusal: Refusal, endOf hold: LeasedHold, at now: Timestamp, transaction: TransactionOutcome
    ) -> OutcomeEvent {
        let source = hold.announced?.source ?? .submission
        let id =
            source == .submission
            ? eventID(endOfHold: hold.transactionID, submission: hold.identity, position: hold.position)
            : eventID(.rejected, transaction: hold.transactionID, timesHeld: hold.position.offset)
        return answer(
            .rejected, id: id, refusal, to: hold.submission, from: source, at: now, transactions: [transaction])
    }

    private static func answer(
        _ kind: Kind, id: NameBasedUUID, _ refusal: Refusal, to submission: Submission,
        from source: PurchaseSource = .submission, at now: Timestamp, risk: [RiskSignal] = [],
        transactions: [TransactionOutcome]
    ) -> OutcomeEvent {
        let reason = refusal.reason
        let first = transactions.last { $0.reason == reason && ($0.outcome == .held) == (kind == .held) }?.transactionID
        var json = JSONWriter()
        json.beginObject()
        json.begin(kind, id: id, at: now)
        json.write(submission, from: source)
        json.member("reason", reason.rawValue)
        json.write(refusal.cause)
        if kind == .held { json.write(risk) }
        json.write(transactions, first: first)
        json.endObject()
        return OutcomeEvent(
            eventID: id, kind: kind, reason: reason, playerID: submission.playerID, bundleID: submission.bundleID,
            subject: submission.submissionID, occurredAt: now, risk: kind == .held ? risk : [], value: json.bytes)
    }

    /// Makes the event of a local rejection, which PostgreSQL does not store. The event's time is the record's own
    /// time. So if a worker gets the record again, the new event has the same bytes.
    public static func rejectedLocally(
        _ refusal: Refusal, submission: Submission, proof: Digest256?, position: RecordPosition
    ) -> OutcomeEvent {
        let identity = submission.identity(proof: proof ?? position.content)
        return answer(
            .rejected, id: eventID(.rejected, submission: identity, position: position), refusal, to: submission,
            at: position.timestamp, transactions: [])
    }

    /// Makes the rejection event of a dead letter whose sender receiptd could read.
    /// - Parameter cause: the fault in the record.
    public static func malformed(
        _ sender: DeadLetter.Sender, _ cause: Cause = Reason.malformedSubmission.cause, position: RecordPosition
    ) -> OutcomeEvent {
        let id = eventID(.rejected, submission: sender.identity, position: position)
        var json = JSONWriter()
        json.beginObject()
        json.begin(.rejected, id: id, at: position.timestamp)
        json.member("submission_id", sender.submissionID.text)
        json.member("player_id", sender.playerID.text)
        json.member("bundle_id", ifPresent: sender.bundleID?.text)
        json.member("order_id", ifPresent: sender.orderID)
        json.member("source", PurchaseSource.submission.rawValue)
        json.member("reason", Reason.malformedSubmission.rawValue)
        json.write(cause)
        json.write([], first: nil)
        json.endObject()
        return OutcomeEvent(
            eventID: id, kind: .rejected, reason: .malformedSubmission, playerID: sender.playerID,
            bundleID: sender.bundleID, subject: sender.submissionID, occurredAt: position.timestamp, value: json.bytes)
    }
}

extension JSONWriter {
    fileprivate mutating func begin(_ kind: OutcomeEvent.Kind, id: NameBasedUUID, at time: Timestamp) {
        member("event_id", id.description)
        member("type", kind.rawValue)
        member("occurred_at", time.rfc3339)
    }

    fileprivate mutating func write(_ submission: Submission, from source: PurchaseSource) {
        member("submission_id", submission.submissionID.text)
        member("player_id", submission.playerID.text)
        member("bundle_id", submission.bundleID.text)
        member("order_id", ifPresent: submission.orderID)
        member("source", source.rawValue)
    }

    fileprivate mutating func write(_ cause: Cause) {
        member("detail", cause.sentence)
        member("detail_code", cause.code)
    }

    fileprivate mutating func write(_ risk: [RiskSignal]) {
        name("risk")
        beginArray()
        for signal in risk { string(signal.rawValue) }
        endArray()
    }

    /// Writes the outcomes of transactions: first the transaction `first`, then the other newly decided transactions,
    /// then those that were granted before.
    fileprivate mutating func write(_ transactions: [TransactionOutcome], first: StoreTransactionID?) {
        name("transactions")
        beginArray()
        var room = OutcomeEvent.maximumListedTransactions
        func list(where isNext: (TransactionOutcome) -> Bool) {
            for transaction in transactions {
                if room == 0 { return }
                guard isNext(transaction) else { continue }
                room -= 1
                write(transaction)
            }
        }
        if let first { list { $0.transactionID == first } }
        list { $0.outcome != .alreadyGranted && $0.transactionID != first }
        list { $0.outcome == .alreadyGranted && $0.transactionID != first }
        endArray()
        name("transactions_total")
        number(transactions.count)
    }

    private mutating func write(_ transaction: TransactionOutcome) {
        beginObject()
        member("transaction_id", transaction.transactionID.text)
        member("product_id", transaction.productID.text)
        member("outcome", transaction.outcome.rawValue)
        name("reason")
        if let reason = transaction.reason { string(reason.rawValue) } else { null() }
        endObject()
    }
}
