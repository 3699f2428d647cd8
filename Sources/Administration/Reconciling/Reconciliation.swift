import BackOffice

/// A comparison of granted units with sold units, by product and period of the report.
package struct Reconciliation: Equatable {
    package struct Row: Equatable {
        package let productID: String
        package let period: SalesReport.Period
        package var granted: Int64 = 0
        package var revoked: Int64 = 0
        /// The sold units minus the refunded units.
        package var sold: Int64 = 0

        /// The difference. Above 0, receiptd granted units that Apple did not sell. Below 0, Apple sold units that
        /// receiptd did not grant.
        package var difference: Int64 { granted - revoked - sold }
    }

    /// A product's money in one currency. It is only an indication: Apple says that the prices in signed data are not
    /// for reconciliation.
    package struct MoneyRow: Equatable {
        package let productID: String
        package let currency: String
        /// The ledger's units with a known price, minus the revoked units.
        package var units: Int64 = 0
        package var granted: Int64 = 0
        package var sold: Int64 = 0
    }

    /// The rows, sorted by product and period.
    package let rows: [Row]
    /// The money, sorted by product and currency.
    package let money: [MoneyRow]

    package var differences: [Row] { rows.filter { $0.difference != 0 } }

    /// - Parameter granted: the ledger's units by day. Days outside the report's periods do not count.
    package init(_ report: SalesReport, _ granted: [GrantedUnits]) {
        var rows: [SalesReport.Key: Row] = [:]
        for (key, units) in report.units {
            rows[key] = Row(productID: key.productID, period: key.period, sold: units)
        }
        var money: [SalesReport.Price: MoneyRow] = [:]
        for (price, paid) in report.money {
            money[price] = MoneyRow(productID: price.productID, currency: price.currency, sold: paid)
        }
        for one in granted {
            guard let period = Self.period(of: one.day, in: report.periods) else { continue }
            let key = SalesReport.Key(productID: one.productID, period: period)
            rows[key, default: Row(productID: one.productID, period: period)].granted += one.granted
            rows[key, default: Row(productID: one.productID, period: period)].revoked += one.revoked
            guard let currency = one.currency else { continue }
            let price = SalesReport.Price(productID: one.productID, currency: currency)
            var row = money[price] ?? MoneyRow(productID: one.productID, currency: currency)
            row.units += one.granted - one.revoked
            row.granted.addClamped(one.milliunits)
            money[price] = row
        }
        self.money = Self.sorted(money)
        self.rows = rows.values.sorted { left, right in
            left.productID != right.productID ? left.productID < right.productID : left.period < right.period
        }
    }

    private static func sorted(_ money: [SalesReport.Price: MoneyRow]) -> [MoneyRow] {
        money.values.sorted { ($0.productID, $0.currency) < ($1.productID, $1.currency) }
    }

    /// The sum over all periods for each product. Apple's days end at other hours than the ledger's, so Apple and the
    /// ledger may count one unit on different days. In the sums such differences vanish.
    package var totals: [Row] {
        guard let first = rows.map(\.period.first).min(), let last = rows.map(\.period.last).max() else { return [] }
        var totals: [Row] = []
        for row in rows {
            if totals.last?.productID != row.productID {
                totals.append(Row(productID: row.productID, period: SalesReport.Period(first: first, last: last)))
            }
            totals[totals.count - 1].granted += row.granted
            totals[totals.count - 1].revoked += row.revoked
            totals[totals.count - 1].sold += row.sold
        }
        return totals
    }

    /// Returns the period that contains a day; nil if there is none. The periods must be sorted and must not overlap.
    private static func period(of day: ReportDay, in periods: [SalesReport.Period]) -> SalesReport.Period? {
        var low = 0
        var high = periods.count
        while low < high {
            let middle = (low + high) / 2
            if periods[middle].last < day { low = middle + 1 } else { high = middle }
        }
        guard low < periods.count, periods[low].first <= day else { return nil }
        return periods[low]
    }
}
