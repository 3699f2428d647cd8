import BackOffice
import Encodings
import Fulfillment
import Ledger
import Testing

@testable import Administration
@testable import receiptd

@Suite("Sales reports that `reconcile` reads")
struct SalesReportTests {
    private static let header = "Provider\tSKU\tProduct Type Identifier\tUnits\tBegin Date\tEnd Date\tCountry Code"

    private func report(_ rows: String..., header: String = header) throws(SalesReport.Faults) -> SalesReport {
        try SalesReport(Array(([header] + rows).joined(separator: "\n").utf8))
    }

    private func row(
        _ sku: String, _ units: String, type: String = "IA1", from first: String = "11/20/2026",
        to last: String? = nil
    ) -> String {
        "APPLE\t\(sku)\t\(type)\t\(units)\t\(first)\t\(last ?? first)\tUS"
    }

    private func faults(_ rows: String..., header: String = header) -> [String] {
        do throws(SalesReport.Faults) {
            _ = try SalesReport(Array(([header] + rows).joined(separator: "\n").utf8))
            return []
        } catch { return error.messages }
    }

    private func period(_ first: String, _ last: String? = nil) -> SalesReport.Period {
        SalesReport.Period(first: ReportDay(first), last: ReportDay(last ?? first))
    }

    @Test("`reconcile` sums a sales report's in-app units by product and day, less refunds, and leaves out other sales")
    func sums() throws {
        let report = try report(
            row("gold", "3"), row("gold", "2.00", type: "FI1"), row("gold", "-1"), row("vip", "1", type: "IAY"),
            row("gold", "9", type: "IA3"), row("The Game", "1000", type: "1F"), "",
            row("gold", "4", from: "11/21/2026") + "\r")
        #expect(report.units[.init(productID: "gold", period: period("2026-11-20"))] == 4)
        #expect(report.units[.init(productID: "vip", period: period("2026-11-20"))] == 1)
        #expect(report.units[.init(productID: "gold", period: period("2026-11-21"))] == 4)
        #expect(report.units.count == 3)
        #expect(report.periods == [period("2026-11-20"), period("2026-11-21")])
    }

    @Test("`reconcile` finds a sales report's columns by name, in any order and case, despite a byte order mark")
    func columns() throws {
        let report = try report(
            "11/20/2026\t 7 \tIA1\tgold\t11/20/2026",
            header: "\u{FEFF}end date\tUNITS\tProduct Type Identifier\tSKU\tBegin Date")
        #expect(report.units[.init(productID: "gold", period: period("2026-11-20"))] == 7)
    }

    @Test(
        "`reconcile` reports each faulty line of a sales report with its number, and names a fault of the whole report")
    func faulty() {
        #expect(
            faults(
                row("gold", "many"), row("", "1"), row("gold", "1", from: "2026-11-20"),
                row("gold", "1", from: "02/30/2026"), row("gold", "1", from: "11/21/2026", to: "11/20/2026"),
                row("gold", "1.5"), row("gold", "1") + "\tmore") == [
                    "line 2: Units is not a whole number", "line 3: SKU is empty",
                    "line 4: Begin Date is not MM/DD/YYYY",
                    "line 5: Begin Date is not MM/DD/YYYY", "line 6: End Date is before Begin Date",
                    "line 7: Units is not a whole number", "line 8: 8 columns where the header has 7",
                ])
        let lacking = faults(row("gold", "1"), header: "SKU,Units")
        #expect(lacking.first?.hasPrefix("line 1: the header is not a Summary Sales report's: it lacks sku, ") == true)
        #expect(faults(header: "") == ["is empty: not even a header"])
        #expect(faults(row("App", "1", type: "1")) == ["has no in-app purchase in it"])
        #expect(
            faults(row("a", "1", from: "11/01/2026", to: "11/07/2026"), row("a", "1", from: "11/07/2026")) == [
                "periods overlap: 2026-11-01 to 2026-11-07 and 2026-11-07 to 2026-11-07"
            ])
    }

    @Test(
        "more units than the maximum are a fault, in one row of a sales report, in several rows and in several reports")
    func tooMany() throws {
        let most = SalesReport.maximumUnits
        let words = "more than 1000000000000 units"
        for extreme in [Int64.min, .max, most + 1] {
            #expect(faults(row("a", "\(extreme)")) == ["line 2: \(words) up to here"])
        }
        #expect(faults(row("a", "\(most)"), row("b", "-1")) == ["line 3: \(words) up to here"])
        var all = try report(row("a", "-\(most)"))
        #expect(Reconciliation(all, []).totals.map(\.difference) == [most])
        let other = try report(row("a", "-1", from: "11/22/2026", to: "11/22/2026"))
        #expect(throws: SalesReport.Faults(messages: ["has, with the other reports, \(words)"])) { try all.add(other) }
    }

    @Test("`reconcile` compares grants minus revocations with sales, for each product and day, and in total")
    func compared() throws {
        let report = try report(
            row("gold", "5"), row("gold", "5", from: "11/21/2026"), row("lost", "2"), row("same", "1"))
        func units(_ product: String, _ day: String, _ granted: Int64, _ revoked: Int64 = 0) -> GrantedUnits {
            GrantedUnits(productID: product, day: ReportDay(day), granted: granted, revoked: revoked)
        }
        let reconciliation = Reconciliation(
            report,
            [
                units("gold", "2026-11-20", 7, 1), units("gold", "2026-11-21", 4), units("same", "2026-11-20", 1),
                units("free", "2026-11-21", 3), units("gold", "2026-11-22", 100),
            ])
        #expect(reconciliation.rows.map(\.productID) == ["free", "gold", "gold", "lost", "same"])
        #expect(reconciliation.rows.map(\.difference) == [3, 1, -1, -2, 0])
        #expect(reconciliation.differences.count == 4)
        #expect(reconciliation.totals.map(\.difference) == [3, 0, -2, 0])
        let text = ReconciliationText.tables(reconciliation, all: false)
        #expect(text.contains("lost     2026-11-20  0        0        2     -2"))
        #expect(text.hasSuffix("4 products, 5 rows: 4 differ") && !text.contains("same"))
        let json = ReconciliationText.json(reconciliation, timeZone: "UTC")
        #expect(
            json.hasPrefix(#"{"time_zone":"UTC","agrees":false,"rows":[{"product_id":"free","first_day":"2026-11-21""#))
    }

    @Test("`reconcile` compares a weekly sales report week by week, and ignores days that no report covers")
    func periods() throws {
        let report = try report(
            row("gold", "5", from: "11/02/2026", to: "11/08/2026"), row("gold", "1", from: "11/10/2026"))
        let days = [("2026-11-02", 2), ("2026-11-08", 3), ("2026-11-09", 50), ("2026-11-10", 1)]
        let reconciliation = Reconciliation(
            report,
            days.map { GrantedUnits(productID: "gold", day: ReportDay($0.0), granted: Int64($0.1), revoked: 0) })
        #expect(reconciliation.differences.isEmpty && reconciliation.rows.count == 2)
        #expect(ReconciliationText.tables(reconciliation, all: true).contains("2026-11-02 to 2026-11-08"))
        #expect(ReconciliationText.tables(reconciliation, all: false) == "1 products, 2 rows: all agree")
    }

    /// `printf 'SKU\tProduct Type Identifier\tUnits\tBegin Date\tEnd Date\ngold\tIA1\t3\t11/20/2026\t11/20/2026\n' | gzip -n`
    private static let packed =
        Base64.decode(
            "H4sIAAAAAAAAAwv2DuUMKMpPKU0uUQipLEhV8ExJzSvJTMtMLeIMzcssKeZ0Sk3PzFNwSSxJ5XTNSwEzuNLzc1I4PR0NOY05DQ31jQyAyMgMickFAPWpYY1XAAAA"
                .utf8) ?? []

    @Test("`reconcile` unpacks a gzip sales report, also with several members; a broken gzip file is a fault")
    func gzip() throws {
        let report = try SalesReport(Self.packed)
        #expect(report.units[.init(productID: "gold", period: period("2026-11-20"))] == 3)
        let plain = try Gzip.unpack(Self.packed, limit: 1000)
        #expect(try Gzip.unpack(Self.packed + Self.packed + [0, 0], limit: 1000) == plain + plain)
        for broken in [
            Array(Self.packed.dropLast()), Array(Self.packed.prefix(12)), [0x1F, 0x8B], Self.packed + [7],
            Self.packed.enumerated().map { $0 == 30 ? $1 ^ 0x55 : $1 },
            // The first copy has a wrong checksum, the second a wrong length.
            Self.packed.enumerated().map { $0 == Self.packed.count - 8 ? $1 ^ 1 : $1 },
            Self.packed.enumerated().map { $0 == Self.packed.count - 1 ? $1 ^ 1 : $1 },
        ] {
            #expect(throws: Gzip.Fault.self, "\(broken.count)") { try Gzip.unpack(broken, limit: 1000) }
        }
    }

    @Test("if a gzip sales report unpacks to more bytes than the limit, `reconcile` refuses the report")
    func bomb() {
        let count = (try? Gzip.unpack(Self.packed, limit: 1000).count) ?? 0
        #expect(throws: Never.self) { try Gzip.unpack(Self.packed, limit: count) }
        #expect(throws: Gzip.Fault(message: "holds more than \(count - 1) bytes")) {
            try Gzip.unpack(Self.packed, limit: count - 1)
        }
    }

    @Test("`reconcile` adds up several sales reports, and refuses reports whose periods overlap")
    func several() throws {
        var all = try report(row("gold", "3"))
        try all.add(try report(row("gold", "2", from: "11/21/2026"), row("vip", "1", from: "11/21/2026")))
        #expect(all.units.values.reduce(0, +) == 6 && all.periods.count == 2)
        let again = try report(row("gold", "3"))
        #expect(throws: SalesReport.Faults(messages: ["covers 2026-11-20 to 2026-11-20, as another report does"])) {
            try all.add(again)
        }
        let week = try report(row("gold", "3", from: "11/15/2026", to: "11/21/2026"))
        #expect(throws: SalesReport.Faults.self) { try all.add(week) }
    }

    @Test("`reconcile` lists amounts of money by currency, and does not count a differing amount as a difference")
    func money() throws {
        let header = Self.header + "\tCustomer Price\tCustomer Currency"
        let report = try report(
            row("gold", "3") + "\t0.99\tUSD", row("gold", "-1") + "\t-0.99\tUSD", row("gold", "1") + "\t120\tJPY",
            row("gold", "1") + "\tfree\tUSD", row("gold", "1") + "\t1.00\tdollars", header: header)
        let granted = [
            GrantedUnits(
                productID: "gold", day: ReportDay("2026-11-20"), granted: 3, revoked: 1, currency: "USD",
                milliunits: 1_980),
            GrantedUnits(productID: "gold", day: ReportDay("2026-11-20"), granted: 3, revoked: 0),
        ]
        let reconciliation = Reconciliation(report, granted)
        #expect(reconciliation.differences.isEmpty && reconciliation.rows.map(\.granted) == [6])
        #expect(reconciliation.money.map(\.currency) == ["JPY", "USD"])
        #expect(reconciliation.money.map(\.sold) == [120_000, 1_980])
        #expect(reconciliation.money.map(\.granted) == [0, 1_980] && reconciliation.money.map(\.units) == [0, 2])
        #expect(
            ReconciliationText.tables(reconciliation, all: false).contains("gold     USD       2      1.98     1.98"))
        #expect(
            ReconciliationText.json(reconciliation, timeZone: "UTC").contains(
                #"{"product_id":"gold","currency":"USD","units":2,"granted_milliunits":1980,"sold_milliunits":1980}"#))
    }

    @Test(
        "`reconcile` reads an amount of money to thousandths, and reads no malformed amount",
        arguments: [
            ("0.99", 990), ("1", 1000), ("-4.99", -4990), ("12.3456", 12345), ("", nil), (".5", nil), ("1,99", nil),
            ("+1", nil), ("--5", nil), ("99999999999999999999", nil), ("9223372036854775807", nil),
        ] as [(String, Int64?)])
    func amounts(_ text: String, _ milliunits: Int64?) {
        #expect(Money.milliunits(text) == milliunits)
    }
}
