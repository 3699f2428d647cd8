import Foundation

/// Known topic names as Swift strings, so that a record of a known topic does not allocate its name again.
struct TopicNames {
    /// The most names that are kept. A worker reads few topics; a further name is allocated for each record.
    private static let limit = 64
    private var names: [String] = []

    mutating func name(_ name: UnsafePointer<CChar>) -> String {
        for known in names where known.withCString({ strcmp($0, name) == 0 }) { return known }
        let name = String(cString: name)
        if names.count < Self.limit { names.append(name) }
        return name
    }
}
