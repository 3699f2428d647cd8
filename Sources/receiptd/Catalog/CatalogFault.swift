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

    /// Printed one by one; of more the number is told.
    static let maximumTold = 100

    let faults: [CatalogFault]

    /// A line for each, and one for those beyond the limit.
    var description: String { lines(of: nil).joined(separator: "\n") }

    /// - Parameter file: stands before each line.
    func lines(of file: String?) -> [String] {
        let prefix = file.map { "\($0): " } ?? ""
        let told = faults.prefix(Self.maximumTold).map { prefix + $0.description }
        let rest = faults.count - told.count
        return rest > 0 ? told + ["\(prefix)and \(rest) more"] : told
    }
}
