/// The columns that may contain a player's data, each with its `Fate` in an erasure. A test compares the list with the
/// schema, because an erasure would miss an unlisted column.
enum ErasedColumns {
    enum Fate: Sendable {
        /// The pseudonym replaces the player's id.
        case pseudonym
        case deleted
        /// The event stays, without the JSON members that name the player.
        case rewritten
        case cleared
        /// The erasure does not begin while the table has rows of the player. Operators end holds and parked
        /// submissions. Workers publish outbox rows.
        case ended
        /// The column never contains data of a player.
        case others
    }

    static let all: [String: Fate] = [
        "grants.player_id": .pseudonym, "grants.event": .rewritten,
        "claims.player_id": .pseudonym,
        "refusals.player_id": .pseudonym,
        "hold_decisions.player_id": .pseudonym,
        "grant_decisions.player_id": .pseudonym, "grant_decisions.note": .cleared,
        // The pseudonym replaces the id of a submission or of the player. The id of a transaction and a filter stay.
        "console_changes.subject": .pseudonym, "console_changes.note": .cleared,
        "outcomes.player_id": .pseudonym, "outcomes.answer": .rewritten, "outcomes.\(TraceSteps.column)": .cleared,
        "outcomes.proof": .cleared, "outcomes.content": .others,
        "device_sightings.player_id": .deleted,
        "replays.player_id": .deleted,
        "local_refusals.player_id": .deleted,
        "account_tokens.player_id": .deleted, "account_tokens.token": .deleted,
        "account_token_senders.player_id": .deleted, "account_token_senders.token": .deleted,
        "account_token_accounts.player_id": .deleted, "account_token_accounts.token": .deleted,
        "player_accounts.player_id": .deleted, "player_accounts.token": .deleted,
        "announced_purchases.player_id": .pseudonym, "announced_purchases.token": .cleared,
        "announced_purchases.evidence": .cleared,
        "refund_requests.player_id": .pseudonym, "undelivered.player_id": .deleted,
        "subscriptions.player_id": .pseudonym, "subscription_receipts.receipt": .deleted,
        "subscription_transfers.from_player_id": .pseudonym, "subscription_transfers.to_player_id": .pseudonym,
        "proofs.proof": .deleted, "proofs.evidence": .deleted,
        "subscription_transfers.note": .cleared,
        "holds.player_id": .ended, "holds.evidence": .ended, "holds.note": .ended,
        "held_submissions.submission": .ended,
        "parked.player_id": .ended, "parked.proof": .ended, "parked.doubts": .ended,
        "parked_submissions.submission": .ended, "parked_submissions.content": .ended,
        "outbox.record_key": .ended, "outbox.event": .ended,
        "erasures.player_id": .cleared,
        "notification_history.suspect": .others, "notification_history.culprit": .others,
        "catalogs.sha256": .others, "redriven_dead_letters.content": .others,
        // The subject is a topic's partition and offsets, an app, a reason, or the kind of the work that crashed
        // workers.
        "incidents.subject": .others,
    ]
}
