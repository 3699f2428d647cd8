/// The columns of one statement's rows, one for each case of an enum. A case is the column's name in camel case:
/// `originalTransactionID` finds `original_transaction_id`.
public struct PostgresColumns<Name: CaseIterable & Hashable & RawRepresentable<String>> {
    private let found: [Name: PostgresColumn]

    public subscript(name: Name) -> PostgresColumn { found[name] ?? PostgresColumn(index: -1) }

    /// Throws if the statement returns no column for one of the cases, even if there are no rows.
    fileprivate init(_ rows: PostgresRows) throws(PostgresError) {
        let names = rows.columnNames
        var found: [Name: PostgresColumn] = [:]
        for name in Name.allCases {
            let text = Self.snakeCase(name.rawValue)
            guard let place = names.firstIndex(of: text) else { throw rows.noColumn(text) }
            found[name] = PostgresColumn(place: place)
        }
        self.found = found
    }

    /// The names of cases are ASCII.
    private static func snakeCase(_ name: String) -> String {
        var text: [UInt8] = []
        text.reserveCapacity(name.utf8.count + 4)
        var isWithinCapitals = true
        for byte in name.utf8 {
            let isCapital = (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
            if isCapital, !isWithinCapitals { text.append(UInt8(ascii: "_")) }
            isWithinCapitals = isCapital
            text.append(isCapital ? byte | 0x20 : byte)
        }
        return String(decoding: text, as: UTF8.self)
    }
}

extension PostgresRows {
    public func columns<Name>(_: Name.Type) throws(PostgresError) -> PostgresColumns<Name> {
        try PostgresColumns(self)
    }
}
