import Fulfillment
import NamesAndTimes
import Postgres
import Testing

@testable import Ledger

@Suite("The time from which receiptd delivers missed purchases")
struct MissedPurchaseGrantTests {
    private typealias Subject = AnnouncedSubject

    private let database: LedgerDatabase
    private let store: CatalogStore
    private let replica: PostgresAnnouncements

    init() async throws {
        database = try await LedgerDatabase()
        store = CatalogStore(pool: database.pool)
        replica = PostgresAnnouncements(pool: database.pool, waitSeconds: 1)
    }

    /// Imports `document` as the text of a catalog with `policy`. The text only has to differ between catalogs.
    private func importCatalog(
        _ document: String, _ policy: AnnouncementPolicy.MissedPurchasePolicy
    ) async throws -> Catalog {
        let apps = Subject.catalog(policy).appsGrantingMissedPurchases
        return Subject.catalog(policy, version: try await store.importDocument(document, granting: apps))
    }

    /// Returns the version of the catalog whose import began the grants of missed purchases.
    private func since() async throws -> [Int64?] {
        try await database.pool.run { session in
            let rows = try session.execute(
                PostgresStatement(
                    """
                    SELECT (SELECT version FROM catalogs WHERE imported_at = since) AS version
                    FROM missed_purchase_grants WHERE bundle_id = 'com.example.game'
                    """))
            let version = try rows.column("version")
            return (0..<rows.count).map { rows.int8($0, version) }
        }
    }

    @Test(
        "the first catalog that grants missed purchases sets the start of their delivery; later catalogs keep the start"
    )
    func imports() async throws {
        let report = try await importCatalog("report", .report)
        _ = try await replica.leaseDue(under: report, limit: 1)
        #expect(try await since() == [])
        let first = try await importCatalog("grant", .grant)
        let second = try await importCatalog("grant again", .grant)
        #expect(try await since() == [first.version])
        _ = try await replica.leaseDue(under: second, limit: 1)
        #expect(try await since() == [first.version])
    }

    @Test("neither a catalog with policy off nor a repeated import changes the start of delivery of missed purchases")
    func off() async throws {
        let first = try await importCatalog("grant", .grant)
        _ = try await importCatalog("off", .off)
        let third = try await importCatalog("grant again", .grant)
        _ = try await replica.leaseDue(under: third, limit: 1)
        #expect(try await since() == [first.version])
        // A second import of the same document adds no version and keeps the start.
        #expect(try await importCatalog("grant again", .grant).version == third.version)
        #expect(try await since() == [first.version])
    }

    @Test(
        "if a fail-over loses the start of the delivery of missed purchases, a replica restores the start and delivers")
    func lost() async throws {
        let ledger = database.ledger()
        let catalog = try await importCatalog("grant", .grant)
        _ = try await replica.leaseDue(under: catalog, limit: 1)
        try await database.run(
            "DELETE FROM missed_purchase_grants; UPDATE catalogs SET imported_at = '\(Sample.noon.rfc3339)'")
        let subject = Subject(database, ledger)
        try await subject.tell(isOf: Subject.player)
        try await subject.enter([try Subject.told("1000")])
        try await subject.endPatience()
        let leased = try await replica.leaseDue(under: catalog, limit: 5)
        #expect(try await since() == [catalog.version])
        let outcomes = try await replica.deliver(leased, under: catalog, at: Sample.noon)
        #expect(outcomes.map(\.inWords) == ["granted"])
        await ledger.close()
    }
}
