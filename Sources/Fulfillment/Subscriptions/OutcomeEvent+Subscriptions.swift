import Encodings
import NamesAndTimes

extension OutcomeEvent {
    /// Returns the id of the event of one revision of a subscription.
    public static func eventID(subscription original: StoreTransactionID, revision: Int32) -> NameBasedUUID {
        NameBasedUUID("subscription event", Kind.subscriptionChanged.rawValue, original.text, String(revision))
    }

    public static func subscriptionChanged(_ subscription: Subscription, at now: Timestamp) -> OutcomeEvent {
        let kind = Kind.subscriptionChanged
        let original = subscription.originalTransactionID
        let id = eventID(subscription: original, revision: subscription.revision)
        var json = JSONWriter()
        json.beginObject()
        json.member("event_id", id.description)
        json.member("type", kind.rawValue)
        json.member("occurred_at", now.rfc3339)
        json.member("player_id", subscription.player.text)
        json.member("bundle_id", subscription.bundleID.text)
        json.member("original_transaction_id", original.text)
        json.member("product_id", subscription.productID.text)
        json.member("state", subscription.state.rawValue)
        json.member("expires_at", ifPresent: subscription.expiresAt?.rfc3339)
        json.member("grace_expires_at", ifPresent: subscription.graceExpiresAt?.rfc3339)
        if let willRenew = subscription.willRenew {
            json.name("will_renew")
            json.bool(willRenew)
        }
        json.member("renewal_product_id", ifPresent: subscription.renewalProductID?.text)
        json.member("environment", subscription.environment.rawValue)
        json.name("revision")
        json.number(subscription.revision)
        json.endObject()
        return OutcomeEvent(
            eventID: id, kind: kind, reason: nil, playerID: subscription.player, bundleID: subscription.bundleID,
            subject: original, occurredAt: now, value: json.bytes)
    }
}
