import BackOffice

/// Apple's Summary Sales report: tab-separated text with a header. Each row has the units of a product that were sold
/// in a period, in one country and on one kind of device. A row names no transaction.
///
/// The source of columns and product types is App Store Connect Help, "Summary Sales Report" and "Product type
/// identifiers".
package struct SalesReport: Equatable {
    /// The most bytes of a report, packed or unpacked. They are enough for half a million rows.
    package static let maximumBytes = 64 << 20
    static let maximumFaults = 20
    /// The most units of all rows together. Sold units and refunded units both count as positive. No store sells so
    /// many, and no sum can overflow.
    static let maximumUnits: Int64 = 1_000_000_000_000

    package struct Period: Hashable, Comparable {
        package let first: ReportDay
        package let last: ReportDay

        package static func < (left: Period, right: Period) -> Bool {
            (left.first, left.last) < (right.first, right.last)
        }
    }

    struct Key: Hashable {
        let productID: String
        let period: Period
    }

    struct Price: Hashable {
        let productID: String
        /// The currency's ISO 4217 code.
        let currency: String
    }

    /// The faults of a report, each with its line. The messages quote only names of columns.
    package struct Faults: Error, Equatable {
        package let messages: [String]
    }

    /// The product types of in-app purchases on every platform. Restored purchases (`IA3`) are no sales. All other
    /// types are apps.
    private static let types: Set<String> = ["IA1", "IA1-M", "IA9", "IA9-M", "IAY", "IAY-M", "IAC", "IAC-M", "FI1"]
    private static let required = ["sku", "product type identifier", "units", "begin date", "end date"]

    /// The sold units minus the refunded units, which Apple reports in rows with negative units.
    private(set) var units: [Key: Int64] = [:]
    /// The units of all rows together. Sold units and refunded units both count as positive.
    private var unitsInAll: Int64 = 0
    /// The customers' payments minus refunds, as an indication. Empty if the report has no prices.
    private(set) var money: [Price: Int64] = [:]
    /// The periods of all rows, sorted, without overlaps.
    package private(set) var periods: [Period] = []

    /// - Parameter file: the report, plain or as gzip.
    package init(_ file: [UInt8]) throws(Faults) {
        let bytes = try Self.unpacked(file)
        var parsing = Parsing()
        for (index, line) in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated() {
            parsing.read(line.last == UInt8(ascii: "\r") ? line.dropLast() : line, number: index + 1)
            if parsing.faults.count >= Self.maximumFaults { break }
        }
        try parsing.finish()
        units = parsing.units
        unitsInAll = parsing.unitsInAll
        money = parsing.money
        periods = parsing.periods.sorted()
    }

    private static func unpacked(_ file: [UInt8]) throws(Faults) -> [UInt8] {
        guard Gzip.isGzip(file) else { return file }
        do throws(Gzip.Fault) {
            return try Gzip.unpack(file, limit: maximumBytes)
        } catch {
            throw Faults(messages: [error.message])
        }
    }

    /// Adds a report of other days. Throws if both reports have a day in common, because the units of that day would
    /// count twice.
    package mutating func add(_ other: SalesReport) throws(Faults) {
        for (one, next) in Self.overlaps((periods + other.periods).sorted()) {
            throw Faults(messages: ["covers \(Self.text(one, next)), as another report does"])
        }
        // Each number is at most the limit, so their sum cannot overflow.
        guard unitsInAll + other.unitsInAll <= Self.maximumUnits else {
            throw Faults(messages: ["has, with the other reports, more than \(Self.maximumUnits) units"])
        }
        unitsInAll += other.unitsInAll
        units.merge(other.units) { $0 + $1 }
        money.merge(other.money) { $0.addingClamped($1) }
        periods = (periods + other.periods).sorted()
    }

    private static func overlaps(_ sorted: [Period]) -> [(Period, Period)] {
        zip(sorted, sorted.dropFirst()).filter { one, next in next.first <= one.last }
    }

    private static func text(_ one: Period, _ next: Period) -> String {
        "\(next.first.text) to \(min(one.last, next.last).text)"
    }

    private struct Parsing {
        var units: [Key: Int64] = [:]
        var unitsInAll: Int64 = 0
        var money: [Price: Int64] = [:]
        var periods: Set<Period> = []
        var faults: [String] = []
        private var columns: [String: Int]?
        private var width = 0

        mutating func read(_ line: ArraySlice<UInt8>, number: Int) {
            guard line.contains(where: { $0 != 0x20 && $0 != 0x09 }) else { return }
            guard let text = String(validating: line, as: UTF8.self) else {
                return fault(number, "not UTF-8")
            }
            let fields = text.split(separator: "\t", omittingEmptySubsequences: false)
            guard let columns else { return header(fields, number) }
            // The export may cut off empty columns at the end of a row.
            guard fields.count <= width else {
                return fault(number, "\(fields.count) columns where the header has \(width)")
            }
            func value(_ name: String) -> String {
                guard let column = columns[name], column < fields.count else { return "" }
                return Self.trimmed(fields[column])
            }
            guard SalesReport.types.contains(value("product type identifier")) else { return }
            let product = value("sku")
            guard !product.isEmpty else { return fault(number, "SKU is empty") }
            guard let count = Self.units(value("units")) else { return fault(number, "Units is not a whole number") }
            guard let first = Self.day(value("begin date")) else {
                return fault(number, "Begin Date is not MM/DD/YYYY")
            }
            guard let last = Self.day(value("end date")) else { return fault(number, "End Date is not MM/DD/YYYY") }
            guard first <= last else { return fault(number, "End Date is before Begin Date") }
            let period = Period(first: first, last: last)
            periods.insert(period)
            let key = Key(productID: product, period: period)
            let room = SalesReport.maximumUnits - unitsInAll
            guard (-room...room).contains(count) else {
                return fault(number, "more than \(SalesReport.maximumUnits) units up to here")
            }
            unitsInAll += abs(count)
            units[key, default: 0] += count
            // The reconciliation works without prices, so an unreadable price is no fault.
            if let price = Money.milliunits(value("customer price")),
                let currency = Money.currency(value("customer currency"))
            {
                let paid = Int64(clamping: price.magnitude).multipliedClamped(by: count)
                money[Price(productID: product, currency: currency), default: 0].addClamped(paid)
            }
        }

        func finish() throws(Faults) {
            if columns == nil, faults.isEmpty { throw Faults(messages: ["is empty: not even a header"]) }
            guard faults.isEmpty else { throw Faults(messages: faults) }
            guard !periods.isEmpty else { throw Faults(messages: ["has no in-app purchase in it"]) }
            for (one, next) in SalesReport.overlaps(periods.sorted()) {
                throw Faults(messages: [
                    "periods overlap: \(one.first.text) to \(one.last.text) and \(next.first.text) to \(next.last.text)"
                ])
            }
        }

        private mutating func header(_ fields: [Substring], _ number: Int) {
            let names = fields.map { Self.trimmed($0).lowercased() }
            columns = Dictionary(names.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
            width = names.count
            let missing = SalesReport.required.filter { !names.contains($0) }
            if !missing.isEmpty {
                fault(number, "the header is not a Summary Sales report's: it lacks \(missing.joined(separator: ", "))")
            }
        }

        private mutating func fault(_ number: Int, _ message: String) { faults.append("line \(number): \(message)") }

        private static func trimmed(_ field: Substring) -> String {
            let isBlank = { (character: Character) in character == " " || character == "\u{FEFF}" }
            var field = field.drop(while: isBlank)
            while let last = field.last, isBlank(last) { field.removeLast() }
            return String(field)
        }

        /// Returns the number of units. Apple writes `3`, and may write `3.00`.
        private static func units(_ text: String) -> Int64? {
            let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
            guard let whole = parts.first, parts.count == 1 || parts[1].allSatisfy({ $0 == "0" }) else { return nil }
            return Int64(whole)
        }

        /// Returns the day of a text such as `11/21/2026`; nil if the text is no such day.
        private static func day(_ text: String) -> ReportDay? {
            let parts = text.split(separator: "/", omittingEmptySubsequences: false)
            guard parts.count == 3, parts.map(\.utf8.count) == [2, 2, 4], let month = Int(parts[0]),
                let day = Int(parts[1]), let year = Int(parts[2]), (1...12).contains(month), year >= 2008,
                (1...Self.length(of: month, year)).contains(day)
            else { return nil }
            return ReportDay("\(parts[2])-\(parts[0])-\(parts[1])")
        }

        private static func length(of month: Int, _ year: Int) -> Int {
            switch month {
            case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
            case 4, 6, 9, 11: 30
            default: 31
            }
        }
    }
}
