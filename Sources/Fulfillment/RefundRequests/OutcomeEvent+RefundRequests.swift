import Encodings
import NamesAndTimes

extension OutcomeEvent {
    /// Makes the event of a player's refund request about a transaction in the ledger.
    public static func refundRequested(_ request: RefundRequest, by player: PlayerID, at now: Timestamp) -> OutcomeEvent
    {
        let id = eventID(refundRequest: request.id)
        var json = JSONWriter()
        json.beginObject()
        json.member("event_id", id.description)
        json.member("type", Kind.refundRequested.rawValue)
        json.member("occurred_at", now.rfc3339)
        json.member("player_id", player.text)
        json.member("bundle_id", request.bundleID.text)
        json.member("transaction_id", request.transactionID.text)
        json.member("original_transaction_id", request.originalTransactionID.text)
        json.member("product_id", request.productID.text)
        json.member("request_reason", ifPresent: request.reason)
        json.member("answer_by", request.answerBy.rfc3339)
        json.endObject()
        return OutcomeEvent(
            eventID: id, kind: .refundRequested, reason: nil, playerID: player, bundleID: request.bundleID,
            subject: request.transactionID, occurredAt: now, value: json.bytes)
    }

    /// Returns the event's id, which is the same for each delivery of one of Apple's notifications.
    public static func eventID(refundRequest notification: Identifier) -> NameBasedUUID {
        NameBasedUUID("refund request event", Kind.refundRequested.rawValue, notification.text)
    }
}
