/// One thing wrong with a catalog file, and where.
struct CatalogFault: Error, Sendable, Equatable, CustomStringConvertible {
    let position: TextPosition
    let message: String

    init(_ position: TextPosition, _ message: String) {
        self.position = position
        self.message = message
    }

    var line: Int { position.line }
    var column: Int { position.column }

    var description: String { "line \(line), column \(column): \(message)" }
}

/// All that is wrong with a catalog file, in the order of the file.
struct CatalogFaults: Error, Sendable, Equatable, CustomStringConvertible {
    /// With which the program ends: EX_CONFIG of sysexits.h.
    static let exitCode: Int32 = 78

    let faults: [CatalogFault]

    /// A line for each.
    var description: String { faults.map(\.description).joined(separator: "\n") }
}
