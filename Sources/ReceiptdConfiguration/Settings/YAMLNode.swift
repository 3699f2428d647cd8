/// A place in a text file; line and column (in Unicode scalars) count from 1.
struct TextPosition: Sendable, Hashable, Comparable {
    var line: Int
    var column: Int

    static func < (left: TextPosition, right: TextPosition) -> Bool {
        (left.line, left.column) < (right.line, right.column)
    }
}

/// A text's fault as YAML, before its meaning counts.
struct YAMLFault: Error, Sendable, Equatable {
    let position: TextPosition
    let message: String
}

/// A piece of a YAML document: no tags, no aliases, scalars as they were written.
struct YAMLNode: Sendable {
    let position: TextPosition
    let content: Content

    enum Content: Sendable {
        case scalar(YAMLScalar)
        case sequence([YAMLNode])
        case mapping([YAMLEntry])
        /// Something that already has its fault.
        case unreadable
    }
}

/// One key of a mapping with its value, in the order of the file. A repeated key is there once, with its first value.
struct YAMLEntry: Sendable {
    let name: String
    let position: TextPosition
    let value: YAMLNode
}

struct YAMLScalar: Sendable, Equatable {
    let text: String
    /// Written without quotes and in no block: only then may it be something else than text.
    let isPlain: Bool

    /// Whether YAML 1.2's core schema reads it as null: empty, `~` and `null`.
    var isNull: Bool { isPlain && ["", "~", "null", "Null", "NULL"].contains(text) }
}
