/// A position in a text file. The line and the column (in Unicode scalars) count from 1.
struct TextPosition: Sendable, Hashable, Comparable {
    var line: Int
    var column: Int

    static func < (left: TextPosition, right: TextPosition) -> Bool {
        (left.line, left.column) < (right.line, right.column)
    }
}

/// A fault in the YAML syntax of a text, not in its keys and values.
struct YAMLFault: Error, Sendable, Equatable {
    let position: TextPosition
    let message: String
}

/// A node of a YAML document, without tags and aliases. Scalars keep the text of the file.
struct YAMLNode: Sendable {
    let position: TextPosition
    let content: Content

    enum Content: Sendable {
        case scalar(YAMLScalar)
        case sequence([YAMLNode])
        case mapping([YAMLEntry])
        /// Content that cannot be used. The document already has a fault about it.
        case unreadable
    }
}

/// A key of a mapping with its value. A repeated key appears once, with its first value.
struct YAMLEntry: Sendable {
    let name: String
    let position: TextPosition
    let value: YAMLNode
}

struct YAMLScalar: Sendable, Equatable {
    let text: String
    /// True if the scalar has no quotes and is no block. Any other scalar is always text.
    let isPlain: Bool

    /// True if YAML 1.2's core schema reads the scalar as null: empty, `~`, `null`.
    var isNull: Bool { isPlain && ["", "~", "null", "Null", "NULL"].contains(text) }
}
