/// A JSON value as it was written. Numbers keep their text, and objects keep the order of their members.
public enum JSONValue: Sendable, Equatable {
    case null
    case bool(Bool)
    /// The number as written, so that no precision is lost.
    case number(String)
    case string(String)
    case array([JSONValue])
    case object([JSONMember])

    /// The value of the last member with the name; nil if there is none, or if this value is not an object.
    public subscript(name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        // A comparison of lengths is cheaper than a comparison of strings, and most names differ in length.
        let length = name.utf8.count
        return members.last { $0.name.utf8.count == length && $0.name == name }?.value
    }

    public var string: String? {
        if case .string(let text) = self { text } else { nil }
    }

    public var array: [JSONValue]? {
        if case .array(let elements) = self { elements } else { nil }
    }
}

public struct JSONMember: Sendable, Equatable {
    public let name: String
    public let value: JSONValue

    public init(name: String, value: JSONValue) {
        self.name = name
        self.value = value
    }
}

/// The reason why bytes are not JSON. The reason never contains the bytes.
public struct JSONFault: Error, Sendable, Equatable {
    public let message: String
    /// The offset in bytes at which reading stopped.
    public let offset: Int
}
