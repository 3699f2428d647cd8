/// A fault of a catalog file, and its position.
package struct CatalogFault: Error, Sendable, Equatable, CustomStringConvertible {
    let position: TextPosition
    package let message: String

    init(_ position: TextPosition, _ message: String) {
        self.position = position
        self.message = message
    }

    package var line: Int { position.line }
    package var column: Int { position.column }

    package var description: String { "line \(line), column \(column): \(message)" }
}

/// The faults of a catalog file, in the order of the file.
package struct CatalogFaults: Error, Sendable, Equatable, CustomStringConvertible {
    /// The exit code of the program: EX_CONFIG of sysexits.h.
    package static let exitCode: Int32 = 78

    /// The most faults in the description. One more line has the number of the other faults.
    package static let maximumTold = 100

    package let faults: [CatalogFault]

    /// A line for each fault up to the maximum, and a line with the number of the other faults.
    package var description: String { lines(of: nil).joined(separator: "\n") }

    /// - Parameter file: the file's name, which begins each line; nil for none.
    package func lines(of file: String?) -> [String] {
        let prefix = file.map { "\($0): " } ?? ""
        let told = faults.prefix(Self.maximumTold).map { prefix + $0.description }
        let rest = faults.count - told.count
        return rest > 0 ? told + ["\(prefix)and \(rest) more"] : told
    }
}
