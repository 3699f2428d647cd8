import Fulfillment
import NamesAndTimes
import Postgres
import Testing

@testable import BackOffice
@testable import Ledger

/// A consumer ignores an event if it has seen the event's id, or if the revision is not newer. No new event may be
/// ignored.
@Suite("Revisions of grants after the database was restored to an earlier state")
struct RevisionFloorTests {
    private let refunds = RefundTests()

    private func events(in database: LedgerDatabase) async throws -> [OutcomeEvent] {
        try await OutboxSweeper(pool: database.pool)
            .leaseUnpublished(topic: "app-store-notifications", partition: 2, limit: 10).map(\.event)
    }

    private func fallBack(_ database: LedgerDatabase) async throws -> Int32 {
        let checkpoints = PostgresCheckpoints(pool: database.pool, group: "receiptd")
        try await checkpoints.keepDecidedAgain([0: 1], topic: Sample.topic)
        return Int32(try await database.number("SELECT max(revisions_above) FROM offsets_decided_again"))
    }

    @Test("after the database falls back, Apple's and operators' changes of a grant get revisions above a floor")
    func nextRevisions() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        for offset in [1, 2] as [Int64] {
            _ = try await ledger.record(refunds.decision("100\(offset)", offset: offset))
        }
        let floor = try await fallBack(database)
        #expect(floor > 1_000_000)
        #expect(try await refunds.apply(refunds.received(.refund, of: "1001"), in: database) == ["revoked"])
        #expect(
            try await refunds.apply(refunds.received(.reversal, of: "1001", after: 5), in: database) == ["reinstated"])
        #expect(
            try await events(in: database).map(\.eventID) == [
                OutcomeEvent.eventID(.revoked, transaction: "1001", revision: floor + 1),
                OutcomeEvent.eventID(.reinstated, transaction: "1001", revision: floor + 2),
            ])
        let word = GrantDecision(.revoke, "1002", by: "ann", note: nil, at: Sample.noon)
        let ending = try await GrantAdministration(pool: database.pool).apply(word, catalog: RefundTests.catalog)
        guard case .published(let event) = ending else {
            Issue.record("\(ending)")
            return
        }
        #expect(event.eventID == OutcomeEvent.eventID(.revoked, transaction: "1002", revision: floor + 1))
        await ledger.close()
    }

    @Test("after the database falls back, a refund and a reversal that leave a grant unchanged publish its state again")
    func cancelledWords() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        for offset in 1...5 as ClosedRange<Int64> {
            _ = try await ledger.record(refunds.decision("100\(offset)", offset: offset))
        }
        #expect(try await refunds.apply(refunds.received(.refund, of: "1002"), in: database) == ["revoked"])
        #expect(
            try await refunds.apply(refunds.received(.reversal, of: "1003", after: 5), in: database) == ["remembered"])
        // The worker reads this reversal before any worker notices the fall-back.
        #expect(
            try await refunds.apply(refunds.received(.reversal, of: "1005", after: 5), in: database) == ["remembered"])
        let floor = try await fallBack(database)
        #expect(try await refunds.apply(refunds.received(.refund, of: "1005"), in: database) == ["reinstated"])
        // The worker reads the reversal before the refund, so the grant stays as it is.
        #expect(
            try await refunds.apply(
                refunds.received(.reversal, of: "1001", after: 5), refunds.received(.refund, of: "1001"), in: database)
                == ["reinstated", "outdated"])
        // Apple reversed the refund and refunded again, so the grant stays revoked.
        #expect(
            try await refunds.apply(
                refunds.received(.refund, of: "1002", after: 9), refunds.received(.reversal, of: "1002", after: 5),
                in: database) == ["revoked", "outdated"])
        // The database had this reversal before the fall-back.
        #expect(
            try await refunds.apply(refunds.received(.reversal, of: "1003", after: 5), in: database) == ["duplicate"])
        // Apple signed this reversal long after the fall-back.
        let century: Int64 = 3_155_760_000
        #expect(
            try await refunds.apply(refunds.received(.reversal, of: "1004", after: century), in: database)
                == ["remembered"])
        #expect(
            try await events(in: database).map(\.eventID) == [
                OutcomeEvent.eventID(.revoked, transaction: "1002", revision: 2),
                OutcomeEvent.eventID(.reinstated, transaction: "1005", revision: floor + 1),
                OutcomeEvent.eventID(.reinstated, transaction: "1001", revision: floor + 1),
                OutcomeEvent.eventID(.revoked, transaction: "1002", revision: floor + 1),
            ])
        #expect(try await database.number("SELECT count(*) FROM grants WHERE revoked_at IS NOT NULL") == 1)
        await ledger.close()
    }

    @Test("after the database falls back, a reversal older than the last refund publishes the revocation once more")
    func outdatedReversal() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        for offset in [1, 2] as [Int64] {
            _ = try await ledger.record(refunds.decision("100\(offset)", offset: offset))
        }
        #expect(try await refunds.apply(refunds.received(.refund, of: "1001"), in: database) == ["revoked"])
        let floor = try await fallBack(database)
        // The lost state had the reversal and its published event. Apple signed the second refund after the fall-back.
        let century: Int64 = 3_155_760_000
        #expect(
            try await refunds.apply(refunds.received(.refund, of: "1001", after: century), in: database)
                == ["remembered"])
        #expect(try await refunds.apply(refunds.received(.reversal, of: "1001", after: 5), in: database) == ["revoked"])
        // The ledger publishes this event only once.
        #expect(
            try await refunds.apply(refunds.received(.reversal, of: "1001", after: 4), in: database) == ["outdated"])
        #expect(
            try await events(in: database).map(\.eventID) == [
                OutcomeEvent.eventID(.revoked, transaction: "1001", revision: 2),
                OutcomeEvent.eventID(.revoked, transaction: "1001", revision: floor + 1),
            ])
        await ledger.close()
    }

    @Test(
        "if a refunded purchase is decided again, it is granted with revision 1, and revoked above the revision floor")
    func revokedAtOnce() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let floor = try await fallBack(database)
        #expect(try await refunds.apply(refunds.received(.refund, of: "1000"), in: database) == ["remembered"])
        let judged = Sample.judged(Sample.purchase("1000"))
        let decision = Sample.decision(.each([judged]), offset: 0, isDecidedAgain: true)
        let told = try await ledger.record(decision).events
        #expect(
            told.map(\.eventID) == [
                OutcomeEvent.eventID(.granted, transaction: "1000", revision: 1),
                OutcomeEvent.eventID(.revoked, transaction: "1000", revision: floor + 1),
            ])
        await ledger.close()
    }

    @Test("if a database is a copy of another primary, the first refund raises the database's revision floor")
    func anotherLife() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        for offset in [1, 2] as [Int64] {
            _ = try await ledger.record(refunds.decision("100\(offset)", offset: offset))
        }
        #expect(try await database.number("SELECT revision_floor()") == 0)
        // The update makes this database a copy of another primary, which has another timeline or cluster.
        try await database.run("UPDATE database_lives SET life = 'the primary that it was copied from'")
        #expect(try await refunds.apply(refunds.received(.refund, of: "1001"), in: database) == ["revoked"])
        let floor = try await database.number("SELECT max(revisions_above) FROM database_lives")
        #expect(floor > 1_000_000)
        #expect(try await database.number("SELECT revision FROM grants WHERE transaction_id = '1001'") == floor + 1)
        #expect(try await database.number("SELECT count(*) FROM database_lives") == 2)
        #expect(try await database.number("SELECT revision_floor()") == floor)
        await ledger.close()
    }
}
