import Fulfillment
import NamesAndTimes
import Postgres

/// The key of a record in the outcomes table.
struct OutcomeKey: Hashable, Comparable {
    let day: Int32
    let partition: Int32
    let offset: Int64
    let topic: Identifier
    /// The first half of the SHA-256 of the record's value.
    let content: [UInt8]

    init(_ position: RecordPosition) {
        day = position.timestamp.daysSinceEpoch
        partition = position.partition
        offset = position.offset
        topic = Identifier(position.topic)
        content = Array(position.content.bytes.prefix(16))
    }

    /// Hashes only the partition and the offset. Other fields cost more, and differ only if the topic was created
    /// again.
    func hash(into hasher: inout Hasher) {
        hasher.combine(partition)
        hasher.combine(offset)
    }

    static func < (left: OutcomeKey, right: OutcomeKey) -> Bool {
        if left.day != right.day { return left.day < right.day }
        if left.partition != right.partition { return left.partition < right.partition }
        if left.offset != right.offset { return left.offset < right.offset }
        if left.topic != right.topic { return left.topic < right.topic }
        return left.content.lexicographicallyPrecedes(right.content)
    }
}

struct OutcomeRow {
    let key: OutcomeKey
    let decision: PendingDecision
    /// The granted transactions, in publishing order.
    let granted: [StoreTransactionID]
    let answer: [UInt8]?

    /// The day that selects the row's partition.
    var day: OutcomeDay { OutcomeDay(of: key.day, decidedOn: decision.decidedAt.daysSinceEpoch) }
}

struct OutboxRow {
    let decision: PendingDecision
    let event: OutcomeEvent
    let ordinal: Int32
}

struct ProofRow {
    let proof: [UInt8]
    let evidence: [UInt8]
    let transactions: [StoreTransactionID]
    let seenOn: Int32
}

struct ProgressRow {
    let topic: Identifier
    let partition: Int32
    let offset: Int64
}

/// The rows of a batch. They can conflict only with rows of a replica that has lost its partition.
struct InsertOutcomes {
    private static let statement = LedgerSQL.statement(PackageResources.insert_outcomes_sql)

    /// The outcomes, sorted by key.
    var outcomes: [OutcomeRow] = []
    /// The events to publish, sorted by id.
    var outbox: [OutboxRow] = []
    /// The proofs to remember, sorted by proof.
    var proofs: [ProofRow] = []
    /// The progress of partitions, sorted by topic and partition.
    var progress: [ProgressRow] = []
    var acknowledged: [NameBasedUUID] = []

    /// Inserts the rows. Returns the number of records that had no outcome before, and the database's history.
    func run(
        writer: Int32, in session: PostgresSession
    ) throws -> (count: Int, history: DatabaseHistory?) {
        let rows = try session.execute(Self.statement, parameters(writer: writer))
        let decided = rows.int8(0, try rows.column("decided")) ?? 0
        return (Int(decided), rows.history(0, try rows.column("history")))
    }

    func parameters(writer: Int32) -> [PostgresParameter] {
        outcomeColumns + outboxColumns + proofColumns + progressColumns(writer) + traceColumn
    }

    private var outcomeColumns: [PostgresParameter] {
        [
            .dateArray(daysSinceUnixEpoch: outcomes.map(\.day.sinceEpoch)),
            .identifiers(outcomes.lazy.map(\.key.topic)),
            .int4Array(outcomes.map(\.key.partition)),
            .int8Array(outcomes.map(\.key.offset)),
            .byteaArray(outcomes.map(\.key.content)),
            .uuids(outcomes.lazy.map(\.decision.identity)),
            .identifiers(outcomes.lazy.map(\.decision.submission.submissionID)),
            .identifiers(outcomes.lazy.map(\.decision.submission.playerID)),
            .identifiers(outcomes.lazy.map(\.decision.submission.bundleID)),
            .byteaArray(outcomes.map(\.decision.proof.bytes)),
            .textArray(outcomes.map { ArrayLiteral.text($0.granted) }),
            .byteaArray(outcomes.map(\.answer)),
            .timestamps(outcomes.map(\.decision.decidedAt)),
        ]
    }

    private var traceColumn: [PostgresParameter] { [.textBytesArray(outcomes.map(\.decision.storedTrace))] }

    private var outboxColumns: [PostgresParameter] {
        [
            .uuids(outbox.lazy.map(\.event.eventID)),
            .textArray(outbox.map(\.decision.position.topic)),
            .int4Array(outbox.map(\.decision.position.partition)),
            .int4Array(outbox.map(\.ordinal)),
            .identifiers(outbox.lazy.map(\.event.playerID)),
            .textArray(outbox.map(\.decision.traceparent)),
            .textArray(outbox.map { $0.event.kind == .granted ? $0.event.subject.text : nil }),
            .byteaArray(outbox.map { $0.event.kind == .granted ? nil : $0.event.value }),
        ]
    }

    private var proofColumns: [PostgresParameter] {
        [
            .byteaArray(proofs.map(\.proof)), .byteaArray(proofs.map(\.evidence)),
            .textArray(proofs.map { ArrayLiteral.text($0.transactions) }),
            .dateArray(daysSinceUnixEpoch: proofs.map(\.seenOn)),
        ]
    }

    private func progressColumns(_ writer: Int32) -> [PostgresParameter] {
        [
            .identifiers(progress.lazy.map(\.topic)), .int4Array(progress.map(\.partition)),
            .int4Array(progress.map { _ in writer }), .int8Array(progress.map(\.offset)), .uuids(acknowledged),
        ]
    }
}
