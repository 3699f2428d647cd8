import Fulfillment
import Ledger
import NamesAndTimes
import Postgres

/// Erases the player from one page of grants, in one SQL transaction that locks the claims first.
struct GrantErasure: Sendable {
    private static let locking = LedgerSQL.statement(PackageResources.lock_player_grants_sql)
    private static let erasing = LedgerSQL.statement(PackageResources.erase_grants_sql)

    let player: PlayerID
    let pseudonym: PlayerID
    let transactions: [StoreTransactionID]
    let originals: Set<StoreTransactionID>

    func run(in session: PostgresSession) throws {
        try session.transaction { session in
            let originals = originals.sorted()
            _ = try LockClaims.run(originals, in: session)
            let rows = try session.execute(Self.locking, [.identifiers(transactions.sorted()), .text(player.text)])
            let (id, event) = (try rows.column("transaction_id"), try rows.column("event"))
            let submission = try rows.column("submission_id")
            let events = (0..<rows.count).map { row in
                rows.bytes(row, event).map { OutcomeEvent.erased($0, pseudonym: pseudonym) }
            }
            let ids = (0..<rows.count).map { rows.text($0, id) }
            try ConsoleErasure.run(
                pseudonym, submissions: (0..<rows.count).map { rows.text($0, submission) }, transactions: ids,
                in: session)
            try session.execute(
                Self.erasing,
                [
                    .text(player.text), .text(pseudonym.text),
                    .textArray(ids), .byteaArray(events),
                    .identifiers(originals),
                ])
        }
    }
}

/// Erases the player from the outcomes in some blocks of a partition, and deletes Apple's answers to the outcomes'
/// proofs.
struct OutcomeErasure: Sendable {
    private static let finding = LedgerSQL.statement(PackageResources.find_player_outcomes_sql)
    private static let findingInDefault = LedgerSQL.statement(PackageResources.find_player_default_outcomes_sql)
    private static let erasing = LedgerSQL.statement(PackageResources.erase_outcomes_sql)

    let player: PlayerID
    let pseudonym: PlayerID
    /// The day of the partition; nil for the default partition.
    let day: OutcomeDay?

    func run(_ range: BlockRange, in session: PostgresSession) throws {
        try session.transaction { try erase(range, in: $0) }
    }

    private func erase(_ range: BlockRange, in session: PostgresSession) throws {
        let who = PostgresParameter.text(player.text)
        let blocks = [range.first, range.end]
        let rows =
            if let day {
                try session.execute(Self.finding, [who, .date(daysSinceUnixEpoch: day.sinceEpoch)] + blocks)
            } else {
                try session.execute(Self.findingInDefault, [who] + blocks)
            }
        guard rows.count > 0 else { return }
        let (topic, partition) = (try rows.column("source_topic"), try rows.column("source_partition"))
        let (offset, content) = (try rows.column("source_offset"), try rows.column("content"))
        let (day, proof) = (try rows.column("day"), try rows.column("proof"))
        let answer = try rows.column("answer")
        let submission = try rows.column("submission_id")
        let all = 0..<rows.count
        try ConsoleErasure.run(
            pseudonym, submissions: all.map { rows.text($0, submission) }, transactions: [], in: session)
        try session.execute(
            Self.erasing,
            [
                .text(pseudonym.text),
                .dateArray(daysSinceUnixEpoch: all.map { Int32(clamping: rows.int4($0, day) ?? 0) }),
                .int4Array(all.map { Int32(clamping: rows.int4($0, partition) ?? 0) }),
                .int8Array(all.map { rows.int8($0, offset) ?? 0 }),
                .textArray(all.map { rows.text($0, topic) }), .byteaArray(all.map { rows.bytes($0, content) }),
                .byteaArray(
                    all.map { rows.bytes($0, answer).map { OutcomeEvent.erased($0, pseudonym: pseudonym) } }),
                .byteaArray(all.map { rows.bytes($0, proof) }),
            ])
    }
}
