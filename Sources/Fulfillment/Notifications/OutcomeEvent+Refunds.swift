import Encodings
import NamesAndTimes

extension GrantedPurchase {
    /// Makes the event of a change, and increments the grant's revision. Returns nil if the player is erased.
    /// - Parameters:
    ///   - told: Apple's facts, which fill in for the facts that an imported grant lacks; nil if there are none.
    ///   - catalog: the catalog that has the payload of a reinstated product.
    public mutating func tell(
        _ change: GrantRevocations.Change, told: NotifiedTransaction? = nil, at now: Timestamp, catalog: Catalog
    ) -> OutcomeEvent? {
        revision += 1
        if player.isPseudonym { return nil }
        switch change {
        case .revoked(let revocation): return .revoked(self, told: told, revocation, at: now)
        case .reinstated:
            let product = catalog.apps[bundleID]?.products[productID]
            return .reinstated(self, told: told, payload: product?.payload, at: now)
        }
    }
}

extension OutcomeEvent {
    /// Makes the event of a revocation of the whole grant or of a part. The event's `quantity` is the grant's whole
    /// quantity.
    /// - Parameter grant: the grant, with the revision of this event.
    static func revoked(
        _ grant: GrantedPurchase, told: NotifiedTransaction?, _ revocation: GrantRevocations.Revocation,
        at now: Timestamp
    ) -> OutcomeEvent {
        make(.revoked, of: grant, told, at: now, reason: revocation.reason) { json, _ in
            json.name("units")
            json.number(revocation.units(of: grant.quantity))
            json.name("revocation_percentage")
            json.number(revocation.milliPercent)
            json.member("reason", revocation.reason.rawValue)
            json.member("detail", revocation.detail)
        }
    }

    /// - Parameter payload: the catalog's payload; nil if the catalog no longer has the product. If nil, the event has
    ///   the granted event's payload.
    static func reinstated(
        _ grant: GrantedPurchase, told: NotifiedTransaction?, payload: String?, at now: Timestamp
    ) -> OutcomeEvent {
        make(.reinstated, of: grant, told, at: now, reason: nil) { json, granted in
            for member in toldMembers {
                guard let value = granted?[member] else { continue }
                json.name(member)
                json.value(value)
            }
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
        _ kind: Kind, of grant: GrantedPurchase, _ told: NotifiedTransaction?, at now: Timestamp, reason: Reason?,
        _ addMembers: (inout JSONWriter, JSONValue?) -> Void
    ) -> OutcomeEvent {
        let id = eventID(kind, transaction: grant.transactionID, revision: grant.revision)
        // Only the granted event has the game's order id.
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
        let original = grant.originalTransactionID ?? told?.purchase.originalTransactionID ?? grant.transactionID
        json.member("original_transaction_id", original.text)
        json.member("product_id", grant.productID.text)
        json.name("quantity")
        json.number(grant.quantity)
        json.member("environment", grant.environment.rawValue)
        json.member("purchased_at", ifPresent: (grant.purchasedAt ?? told?.purchase.purchasedAt)?.rfc3339)
        json.member("expires_at", ifPresent: grant.expiresAt?.rfc3339)
        json.name("revision")
        json.number(grant.revision)
        addMembers(&json, granted)
        json.endObject()
        return OutcomeEvent(
            eventID: id, kind: kind, reason: reason, playerID: grant.player, bundleID: grant.bundleID,
            subject: grant.transactionID, occurredAt: now, value: json.bytes)
    }
}

extension GrantRevocations.Revocation {
    fileprivate var detail: String {
        guard reason == .refund, milliPercent < GrantRevocations.whole else { return reason.detail }
        // The text has two digits after the point: 33333 gives 33.33.
        let hundredths = milliPercent % 1000 / 10
        return
            "Apple has refunded \(milliPercent / 1000).\(hundredths < 10 ? "0" : "")\(hundredths) percent of the purchase."
    }
}
