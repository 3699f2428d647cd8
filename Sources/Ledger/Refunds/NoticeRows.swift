import Fulfillment
import NamesAndTimes
import Postgres

/// Writes the rows of taken notifications, so that no notification counts twice.
struct NoticeRows {
    private static let statement = LedgerSQL.statement(PackageResources.insert_notifications_sql)

    /// The rows, sorted by the notification's id.
    private let rows: [(received: ReceivedNotice, effect: NoticeEffect)]

    init(_ taken: [(received: ReceivedNotice, effect: NoticeEffect)]) {
        rows = taken.sorted { $0.received.notice.id < $1.received.notice.id }
    }

    func write(in session: PostgresSession) throws {
        guard !rows.isEmpty else { return }
        try session.execute(
            Self.statement,
            [
                .identifiers(rows.lazy.map(\.received.notice.id)), .textArray(rows.map(\.received.notice.type)),
                .textArray(rows.map(\.received.notice.subtype)),
                .textArray(rows.map { $0.received.notice.bundleID?.text }),
                .textArray(rows.map { $0.received.notice.environment?.rawValue }),
                .textArray(rows.map { $0.received.notice.transactionID?.text }),
                .textArray(rows.map(\.received.source.rawValue)), .textArray(rows.map(\.effect.name)),
                .timestamps(rows.map(\.received.notice.signedAt)),
            ])
    }
}
