import BackOffice
import Fulfillment
import Ledger
import NamesAndTimes
import Postgres
import TestSupport
import Testing

@testable import Console

@Suite("The console's lists of held, parked and unclaimed rows, subscriptions and refunds")
struct ConsoleListConformance {
    enum Implementation: String, CaseIterable, Sendable {
        case held
        case parked
        case unclaimed
        case subscriptions
        case refunds
    }

    /// Runs `body` on a database with two rows in each table. The two rows differ in reason or state if the list shows
    /// one of these.
    private func with(
        _ implementation: Implementation, _ body: (any ConsoleList, PostgresPool) async throws -> Void
    ) async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        switch implementation {
        case .held:
            for (offset, reason) in [Reason.unknownProduct, .retiredProduct].enumerated() {
                let held = Sample.judged(Sample.purchase("100\(offset)"), .consumable, .hold(reason))
                _ = try await ledger.record(Sample.decision([held], offset: Int64(offset)))
            }
            try await body(HeldList(store: HoldAdministration(pool: database.pool)), database.pool)
        case .parked:
            try await park(in: database)
            try await body(ParkedList(store: ParkedAdministration(pool: database.pool)), database.pool)
        case .unclaimed:
            let subject = AnnouncedSubject(database, ledger)
            try await subject.enter([
                try AnnouncedSubject.told("1000"), try AnnouncedSubject.told("1001", token: nil),
            ])
            try await subject.endPatience()
            let catalog = AnnouncedSubject.catalog(.report)
            let leased = try await subject.announced.leaseDue(under: catalog, limit: 10)
            _ = try await subject.announced.deliver(leased, under: catalog, at: Sample.noon)
            try await body(UnclaimedList(store: UnclaimedAdministration(pool: database.pool)), database.pool)
        case .subscriptions:
            let subject = FollowedSubscriptionsConformance.Subject(database, ledger)
            for (offset, original) in ["1000", "2000"].enumerated() {
                _ = try await subject.grant(original, original: original, at: 0, offset: Int64(offset))
            }
            try await body(SubscriptionList(store: SubscriptionAdministration(pool: database.pool)), database.pool)
        case .refunds:
            let subject = AnnouncedSubject(database, ledger)
            let granted = Sample.judged(Sample.purchase("1001"), .consumable, .grant(payload: nil))
            _ = try await ledger.record(Sample.decision([granted], offset: 0))
            try await subject.apply(.revoked(.refund, at: Sample.noon), of: "1000", id: "n-1")
            try await subject.apply(.revoked(.refund, at: Sample.noon), of: "1001", id: "n-2")
            try await subject.apply(
                .reversed, of: "1001", id: "n-3", signedAt: Sample.noon.adding(milliseconds: 1_000))
            try await body(RefundList(store: RefundAdministration(pool: database.pool)), database.pool)
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

    @Test(
        "a console list's count equals its rows, and the list shows no more rows than requested",
        arguments: Implementation.allCases)
    func counts(implementation: Implementation) async throws {
        try await with(implementation) { list, _ in
            let count = try await list.count(ListFilter())
            #expect(count.rows == 2 && !count.isLeast)
            #expect(try await list.rows(ListFilter(), limit: 10).count == 2)
            #expect(try await list.rows(ListFilter(), limit: 1).count == 1)
        }
    }

    @Test(
        "if the pages of a console list have one row each, they show all its rows in the list's order",
        arguments: Implementation.allCases)
    func pages(implementation: Implementation) async throws {
        try await with(implementation) { list, _ in
            let all = try ids(list, try await list.rows(ListFilter(), limit: 10))
            var turned: [String] = []
            for place in 0..<3 {
                let rows = try await list.rows(ListFilter(), limit: 1, skipping: place)
                #expect(rows.count == (place < all.count ? 1 : 0))
                turned += try ids(list, rows)
            }
            #expect(turned == all)
        }
    }

    /// Returns the rows' ids, by which an operator finds the rows. The ids are in the column with the links.
    private func ids(_ list: any ConsoleList, _ rows: [ListRow]) throws -> [String] {
        let column = try #require(list.columns.firstIndex { $0.isLink })
        return rows.map { $0.cells[column] }
    }

    @Test(
        "each row of a console list has a cell for each column, an id of its own, and readable times and numbers",
        arguments: Implementation.allCases)
    func rows(implementation: Implementation) async throws {
        try await with(implementation) { list, _ in
            let rows = try await list.rows(ListFilter(), limit: 10)
            #expect(rows.allSatisfy { $0.cells.count == list.columns.count })
            #expect(list.columns.first?.isUnder == false)
            let found = Set(try ids(list, rows))
            #expect(found.count == 2 && !found.contains(""))
            for (index, column) in list.columns.enumerated() where column.isSince {
                #expect(rows.allSatisfy { Timestamp(rfc3339: $0.cells[index]) != nil }, "\(column.name)")
            }
            for (index, column) in list.columns.enumerated() where column.isNumber {
                #expect(rows.allSatisfy { Int($0.cells[index]) != nil }, "\(column.name)")
            }
        }
    }

    @Test(
        "a console list's row has an id if and only if an operator can change it, and offers only the list's changes",
        arguments: Implementation.allCases)
    func ids(implementation: Implementation) async throws {
        try await with(implementation) { list, _ in
            let rows = try await list.rows(ListFilter(), limit: 10)
            #expect(rows.allSatisfy { ($0.id != nil) == !($0.changes ?? list.changes).isEmpty })
            #expect(rows.contains { $0.id != nil } == !list.changes.isEmpty)
            #expect(rows.flatMap { $0.changes ?? [] }.allSatisfy(list.changes.contains))
        }
    }

    @Test(
        "the reason filters of a console list together show every row once, and their counts equal the shown rows",
        arguments: Implementation.allCases)
    func reasons(implementation: Implementation) async throws {
        try await with(implementation) { list, _ in
            #expect(Set(list.reasons).count == list.reasons.count && !list.reasons.isEmpty)
            var all: [String] = []
            for reason in list.reasons {
                let filter = ListFilter(bundleID: nil, reason: reason)
                let rows = try await list.rows(filter, limit: 10)
                #expect(try await list.count(filter).rows == rows.count, "\(reason)")
                all += try ids(list, rows)
            }
            let known = try ids(list, try await list.rows(ListFilter(), limit: 10))
            #expect(all.sorted() == known.sorted())
        }
    }

    @Test("a console list's filter by app shows and counts only the app's rows", arguments: Implementation.allCases)
    func apps(implementation: Implementation) async throws {
        try await with(implementation) { list, _ in
            let filter = ListFilter(bundleID: Sample.bundle.text, reason: nil)
            let count = try await list.count(filter)
            #expect(count.rows == 2)
            #expect(try await list.rows(filter, limit: 10).count == 2)
            let other = ListFilter(bundleID: "com.example.other", reason: nil)
            #expect(try await list.count(other).rows == 0)
            #expect(try await list.rows(other, limit: 10).isEmpty)
        }
    }

    @Test(
        "a console list's filters by player, product and id show and count only matching rows",
        arguments: Implementation.allCases)
    func parts(implementation: Implementation) async throws {
        try await with(implementation) { list, _ in
            let all = try await list.rows(ListFilter(), limit: 10)
            func shows(_ filter: ListFilter, _ cell: String, in place: Int) async throws {
                let rows = try await list.rows(filter, limit: 10)
                #expect(!rows.isEmpty && rows.allSatisfy { $0.cells[place] == cell }, "\(list.columns[place].name)")
                #expect(try await list.count(filter).rows == rows.count)
            }
            for (name, part) in [("player", ListPart.player), ("product", .product)] {
                let place = list.columns.firstIndex { $0.name.lowercased() == name }
                let cell = place.flatMap { place in all.map { $0.cells[place] }.first { !$0.isEmpty } } ?? "x"
                let wanted = ListFilter([name: cell], of: list)
                #expect((wanted != nil) == list.parts.contains(part), "\(name)")
                guard let wanted, let place else { continue }
                try await shows(wanted, cell, in: place)
                let other = try #require(ListFilter([name: "nobody's"], of: list))
                #expect(try await list.count(other).rows == 0)
                #expect(try await list.rows(other, limit: 10).isEmpty)
            }
            if list.changes.contains(where: \.takesFilter) {
                let row = try #require(all.last)
                let place = try #require(list.columns.firstIndex { $0.isLink })
                let filter = try #require(row.id.flatMap(list.row))
                try await shows(filter, row.cells[place], in: place)
            }
        }
    }

    @Test(
        "a console list's filters by age show and count only rows that have this age at the time of the request",
        arguments: Implementation.allCases)
    func ages(implementation: Implementation) async throws {
        try await with(implementation) { list, _ in
            for age in ListAge.allCases {
                let now = Timestamp.current
                for (years, isYounger) in [(-50, true), (50, false)] as [(Int64, Bool)] {
                    let moment = now.adding(milliseconds: years * 365 * 86_400_000).milliseconds
                    let filter = ListFilter(["age": age.rawValue, "now": "\(moment)"], of: list)
                    #expect((filter != nil) == list.ages.contains(age), "\(age)")
                    guard let filter else { continue }
                    let wanted = isYounger == ListAge.recent.contains(age) ? 2 : 0
                    let (count, rows) = (try await list.count(filter), try await list.rows(filter, limit: 10))
                    #expect(count.rows == wanted && rows.count == wanted, "\(age), \(years) years")
                }
            }
        }
    }

    @Test("a console list's filters offer exactly the apps and reasons of its rows", arguments: Implementation.allCases)
    func kinds(implementation: Implementation) async throws {
        try await with(implementation) { list, pool in
            let kinds = try await ListedKinds.of(list.table, in: pool)
            #expect(kinds.bundleIDs == [Sample.bundle.text])
            var having: [String] = []
            for reason in list.reasons where try await list.count(ListFilter(reason: reason)).rows > 0 {
                having.append(reason)
            }
            #expect(kinds.reasons == having.sorted())
        }
    }

    @Test(
        "a console list has a lower-case name for its address, a title, an explanation and a label for its reasons",
        arguments: Implementation.allCases)
    func names(implementation: Implementation) async throws {
        try await with(implementation) { list, _ in
            #expect(
                !list.name.isEmpty && list.name.utf8.allSatisfy { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) }
            )
            #expect(!list.title.isEmpty && list.explanation.hasSuffix("."))
            #expect(!list.reasonLabel.isEmpty)
        }
    }
}
