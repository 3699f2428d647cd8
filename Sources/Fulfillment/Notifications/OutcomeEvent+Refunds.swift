extension OutcomeEvent {
    /// Apple took a granted transaction back, the whole or a part: `quantity` is the whole.
    /// - Parameters:
    ///   - grant: with the revision of this event.
    ///   - told: fills in what the grant of another system does not say.
    static func revoked(
        _ grant: GrantedPurchase, told: NotifiedTransaction, reason: Reason, at now: Timestamp
    ) -> OutcomeEvent {
        make(.revoked, of: grant, told, at: now, reason: reason) { json, _ in
            json.member("reason", reason.rawValue)
            json.member("detail", detail(reason, told.refundedMilliPercent))
        }
    }

    /// Apple gave a granted transaction back.
    /// - Parameter payload: the catalog's; where it no longer has the product, what was granted is repeated.
    static func reinstated(
        _ grant: GrantedPurchase, told: NotifiedTransaction, payload: String?, at now: Timestamp
    ) -> OutcomeEvent {
        make(.reinstated, of: grant, told, at: now, reason: nil) { json, granted in
            if let payload {
                json.name("payload")
                json.raw(payload)
            } else if let payload = granted?["payload"] {
                json.name("payload")
                json.value(payload)
            }
        }
    }

    private static func make(
        _ kind: Kind, of grant: GrantedPurchase, _ told: NotifiedTransaction, at now: Timestamp, reason: Reason?,
        _ addMembers: (inout JSONWriter, JSONValue?) -> Void
    ) -> OutcomeEvent {
        let id = eventID(kind, transaction: grant.transactionID, revision: grant.revision)
        // The game's order is stored nowhere else.
        let granted = grant.event.flatMap { try? JSONParser.parse($0).value }
        var json = JSONWriter()
        json.beginObject()
        json.member("event_id", id.description)
        json.member("type", kind.rawValue)
        json.member("occurred_at", now.rfc3339)
        json.member("submission_id", grant.submissionID.text)
        json.member("player_id", grant.player.text)
        json.member("bundle_id", grant.bundleID.text)
        json.member("order_id", ifPresent: granted?["order_id"]?.string)
        json.member("transaction_id", grant.transactionID.text)
        json.member(
            "original_transaction_id", (grant.originalTransactionID ?? told.purchase.originalTransactionID).text)
        json.member("product_id", grant.productID.text)
        json.name("quantity")
        json.number(grant.quantity)
        json.member("environment", grant.environment.rawValue)
        json.member("purchased_at", (grant.purchasedAt ?? told.purchase.purchasedAt).rfc3339)
        json.member("expires_at", ifPresent: grant.expiresAt?.rfc3339)
        json.name("revision")
        json.number(grant.revision)
        addMembers(&json, granted)
        json.endObject()
        return OutcomeEvent(
            eventID: id, kind: kind, reason: reason, playerID: grant.player, subject: grant.transactionID,
            occurredAt: now, value: json.bytes)
    }

    private static let wholeInMilliPercent: Int32 = 100_000

    private static func detail(_ reason: Reason, _ milliPercent: Int32?) -> String {
        guard reason == .refund, let part = milliPercent, (1..<wholeInMilliPercent).contains(part) else {
            return reason.detail
        }
        // At least two digits behind the point: 33333 is 33.33.
        let hundredths = part % 1000 / 10
        return "Apple has refunded \(part / 1000).\(hundredths < 10 ? "0" : "")\(hundredths) percent of the purchase."
    }
}
