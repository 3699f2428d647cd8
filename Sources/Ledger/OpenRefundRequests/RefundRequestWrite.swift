import Fulfillment
import NamesAndTimes
import Postgres

enum RefundRequestWrite {
    /// The outbox's `source_topic` for these events. It is not a record's topic, because requests also come from
    /// Apple's notification history.
    static let sourceTopic = "app-store-notifications"

    private static let entering = LedgerSQL.statement(PackageResources.insert_refund_requests_sql)
    private static let publishing = LedgerSQL.statement(PackageResources.insert_refund_request_events_sql)

    /// Inserts requests in the SQL transaction of their notification. The caller has locked the claims of their
    /// originals.
    ///
    /// Returns one event for each request whose transaction is in the ledger, and inserts it into the outbox.
    /// `UnownedRefundRequests` handles the other requests later.
    static func enter(
        _ requests: [RefundRequest], at now: Timestamp, in session: PostgresSession
    ) throws -> [OutcomeEvent] {
        guard !requests.isEmpty else { return [] }
        let sorted = requests.sorted { $0.id < $1.id }
        let rows = try session.execute(entering, columns(sorted))
        let (notification, player) = (try rows.column("notification_id"), try rows.column("player_id"))
        var players: [Identifier: PlayerID] = [:]
        for row in 0..<rows.count {
            guard let id = rows.text(row, notification), let owner = rows.text(row, player) else { continue }
            players[Identifier(id)] = Identifier(owner)
        }
        // Apple may send a request twice. Each request has one event.
        let owned = requests.compactMap { request in
            players.removeValue(forKey: request.id).map { OwnedRefundRequest(request: request, player: $0) }
        }
        return try publish(owned, at: now, in: session)
    }

    /// Returns the events of requests whose owners are known, and inserts them into the outbox.
    static func publish(
        _ requests: [OwnedRefundRequest], at now: Timestamp, in session: PostgresSession
    ) throws -> [OutcomeEvent] {
        // An erased player's request has no event.
        let events = requests.filter { !$0.player.isPseudonym }
            .map { OutcomeEvent.refundRequested($0.request, by: $0.player, at: now) }
        guard !events.isEmpty else { return [] }
        try session.execute(
            publishing,
            [
                .uuids(events.lazy.map(\.eventID)), .int4Array(events.indices.map { Int32($0) }),
                .identifiers(events.lazy.map(\.playerID)), .byteaArray(events.map(\.value)), .text(sourceTopic),
            ])
        return events
    }

    private static func columns(_ requests: [RefundRequest]) -> [PostgresParameter] {
        [
            .identifiers(requests.lazy.map(\.id)), .identifiers(requests.lazy.map(\.transactionID)),
            .identifiers(requests.lazy.map(\.originalTransactionID)), .identifiers(requests.lazy.map(\.bundleID)),
            .identifiers(requests.lazy.map(\.productID)), .textArray(requests.map(\.environment.rawValue)),
            .textArray(requests.map { $0.kind?.rawValue }), .textArray(requests.map(\.reason)),
            .timestamps(requests.map(\.signedAt)), .timestamps(requests.map(\.answerBy)),
            .float8(UnownedRefundRequests.lookSeconds), .textArray(requests.map { $0.period?.text }),
            .identifiers(requests.lazy.map { PublishedClaim.id(ofRefundRequest: $0.id) }),
        ]
    }
}

/// A refund request of a transaction that is in the ledger.
struct OwnedRefundRequest {
    let request: RefundRequest
    let player: PlayerID
}
