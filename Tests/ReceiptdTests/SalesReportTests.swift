import Ledger
import Testing

@testable import Administration
@testable import receiptd

@Suite("Sales reports")
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

    @Test(
        "units of a product and day are summed over countries, refunds subtracted, and what is no in-app sale left out")
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

    @Test("columns are found by name in any order, with a byte order mark, and blanks around values")
    func columns() throws {
        let report = try report(
            "11/20/2026\t 7 \tIA1\tgold\t11/20/2026",
            header: "\u{FEFF}end date\tUNITS\tProduct Type Identifier\tSKU\tBegin Date")
        #expect(report.units[.init(productID: "gold", period: period("2026-11-20"))] == 7)
    }

    @Test("each faulty line is told with its number, and nothing of its content")
    func faulty() {
        #expect(
            faults(
                row("gold", "many"), row("", "1"), row("gold", "1", from: "2026-11-20"),
                row("gold", "1", from: "02/30/2026"), row("gold", "1", from: "11/21/2026", to: "11/20/2026"),
                row("gold", "1.5"), row("gold", "1") + "\tmore") == [
                    "line 2: Units is no whole number", "line 3: SKU is empty", "line 4: Begin Date is no MM/DD/YYYY",
                    "line 5: Begin Date is no MM/DD/YYYY", "line 6: End Date lies before Begin Date",
                    "line 7: Units is no whole number", "line 8: 8 columns where the header has 7",
                ])
        let lacking = faults(row("gold", "1"), header: "SKU,Units")
        #expect(lacking.first?.hasPrefix("line 1: no header of a Summary Sales report: it lacks sku, ") == true)
        #expect(faults(header: "") == ["is empty: not even a header"])
        #expect(faults(row("App", "1", type: "1")) == ["has no in-app purchase in it"])
        #expect(
            faults(row("a", "1", from: "11/01/2026", to: "11/07/2026"), row("a", "1", from: "11/07/2026")) == [
                "periods overlap: 2026-11-01 to 2026-11-07 and 2026-11-07 to 2026-11-07"
            ])
        #expect(throws: SalesReport.Faults(messages: ["is compressed: unpack it first, as with gunzip"])) {
            try SalesReport([0x1F, 0x8B, 0x08])
        }
        #expect(faults(row("a", "\(Int64.max)"), row("a", "1")) == ["line 3: Units is too large"])
    }

    @Test("grants less revocations are set against sales, by product and day and in all")
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

    @Test("a weekly report is compared by the week, and days between two periods are not looked at")
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
}
