import Fulfillment
import Ledger
import NamesAndTimes
import TestSupport
import Testing

@testable import Console

/// What every list of the console promises to the page and the file that show it, on a database with rows of each.
@Suite("Every list of the console")
struct ConsoleListConformance {
    enum Implementation: String, CaseIterable, Sendable {
        case held
        case parked
        case unclaimed
        case subscriptions
        case refunds
    }

    /// Two rows in each table, of two reasons or states where the list tells them apart.
    private func with(_ implementation: Implementation, _ body: (any ConsoleList) async throws -> Void) async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        switch implementation {
        case .held:
            for (offset, reason) in [Reason.unknownProduct, .retiredProduct].enumerated() {
                let held = Sample.judged(Sample.purchase("100\(offset)"), .consumable, .hold(reason))
                _ = try await ledger.record(Sample.decision([held], offset: Int64(offset)))
            }
            try await body(HeldList(store: HoldAdministration(pool: database.pool)))
        case .parked:
            try await park(in: database)
            try await body(ParkedList(store: ParkedAdministration(pool: database.pool)))
        case .unclaimed:
            let subject = AnnouncedSubject(database, ledger)
            try await subject.enter([
                try AnnouncedSubject.told("1000"), try AnnouncedSubject.told("1001", token: nil),
            ])
            try await subject.endPatience()
            let catalog = AnnouncedSubject.catalog(.report)
            let leased = try await subject.announced.leaseDue(under: catalog, limit: 10)
            _ = try await subject.announced.deliver(leased, under: catalog, at: Sample.noon)
            try await body(UnclaimedList(store: UnclaimedAdministration(pool: database.pool)))
        case .subscriptions:
            let subject = FollowedSubscriptionsConformance.Subject(database, ledger)
            for (offset, original) in ["1000", "2000"].enumerated() {
                _ = try await subject.grant(original, original: original, at: 0, offset: Int64(offset))
            }
            try await body(SubscriptionList(store: SubscriptionAdministration(pool: database.pool)))
        case .refunds:
            let subject = AnnouncedSubject(database, ledger)
            let granted = Sample.judged(Sample.purchase("1001"), .consumable, .grant(payload: nil))
            _ = try await ledger.record(Sample.decision([granted], offset: 0))
            try await subject.apply(.revoked(.refund, at: Sample.noon), of: "1000", id: "n-1")
            try await subject.apply(.revoked(.refund, at: Sample.noon), of: "1001", id: "n-2")
            try await subject.apply(
                .reversed, of: "1001", id: "n-3", signedAt: Sample.noon.adding(milliseconds: 1_000))
            try await body(RefundList(store: RefundAdministration(pool: database.pool)))
        }
        await ledger.close()
    }

    private func park(in database: LedgerDatabase) async throws {
        let store = PostgresParking(pool: LedgerDatabase.pool(database.uri))
        for (offset, reason) in [ParkingReason.appleTrouble, .blockedSharedSecret].enumerated() {
            _ = try await store.park(
                ParkingSubmission(
                    submission: Sample.submission("s-\(offset)", player: "player-1"),
                    position: Sample.position(Int64(offset)), proof: Sample.digest("proof \(offset)"), traceparent: nil,
                    reason: reason, history: WaitingHistory(failures: 1, parkings: 1), dueAfterSeconds: 60))
        }
        await store.close()
    }

    @Test("counts what it shows, and shows no more than asked for", arguments: Implementation.allCases)
    func counts(implementation: Implementation) async throws {
        try await with(implementation) { list in
            let count = try await list.count(ListFilter())
            #expect(count.rows == 2 && !count.isLeast)
            #expect(try await list.rows(ListFilter(), limit: 10).count == 2)
            #expect(try await list.rows(ListFilter(), limit: 1).count == 1)
        }
    }

    @Test("a row has a cell for each column, and is found by its first", arguments: Implementation.allCases)
    func rows(implementation: Implementation) async throws {
        try await with(implementation) { list in
            let rows = try await list.rows(ListFilter(), limit: 10)
            #expect(rows.allSatisfy { $0.cells.count == list.columns.count })
            #expect(rows.allSatisfy { $0.search != nil && $0.search == $0.cells.first })
            #expect(Set(rows.compactMap(\.search)).count == 2)
            for (index, column) in list.columns.enumerated() where column.isNumber {
                #expect(rows.allSatisfy { Int($0.cells[index]) != nil }, "\(column.name)")
            }
        }
    }

    @Test(
        "a row has an id where it can be changed, and else none, and is changed as the list is",
        arguments: Implementation.allCases)
    func ids(implementation: Implementation) async throws {
        try await with(implementation) { list in
            let rows = try await list.rows(ListFilter(), limit: 10)
            #expect(rows.allSatisfy { ($0.id != nil) == !($0.changes ?? list.changes).isEmpty })
            #expect(rows.contains { $0.id != nil } == !list.changes.isEmpty)
            #expect(rows.flatMap { $0.changes ?? [] }.allSatisfy(list.changes.contains))
        }
    }

    @Test(
        "each of its reasons shows a part, each row is of one of them, and counts agree",
        arguments: Implementation.allCases)
    func reasons(implementation: Implementation) async throws {
        try await with(implementation) { list in
            #expect(Set(list.reasons).count == list.reasons.count && !list.reasons.isEmpty)
            var all: [String] = []
            for reason in list.reasons {
                let filter = ListFilter(bundleID: nil, reason: reason)
                let rows = try await list.rows(filter, limit: 10)
                #expect(try await list.count(filter).rows == rows.count, "\(reason)")
                all += rows.compactMap(\.search)
            }
            #expect(all.sorted() == (try await list.rows(ListFilter(), limit: 10)).compactMap(\.search).sorted())
        }
    }

    @Test("shows an app's rows where one is asked for", arguments: Implementation.allCases)
    func apps(implementation: Implementation) async throws {
        try await with(implementation) { list in
            let filter = ListFilter(bundleID: Sample.bundle.text, reason: nil)
            let count = try await list.count(filter)
            #expect(count.rows == 2)
            #expect(try await list.rows(filter, limit: 10).count == 2)
            let other = ListFilter(bundleID: "com.example.other", reason: nil)
            #expect(try await list.count(other).rows == 0)
            #expect(try await list.rows(other, limit: 10).isEmpty)
        }
    }

    @Test("has a name for addresses, and words for people", arguments: Implementation.allCases)
    func names(implementation: Implementation) async throws {
        try await with(implementation) { list in
            #expect(
                !list.name.isEmpty && list.name.utf8.allSatisfy { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) }
            )
            #expect(!list.title.isEmpty && list.explanation.hasSuffix("."))
            #expect(!list.reasonLabel.isEmpty)
        }
    }
}
