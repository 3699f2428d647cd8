/// librdkafka's configuration as ordered name=value pairs
/// (https://github.com/confluentinc/librdkafka/blob/v2.0.2/CONFIGURATION.md). A topic property (`acks`, `partitioner`,
/// `auto.offset.reset`) is set like a client property, and applies to every topic.
public struct KafkaProperties: Sendable {
    public private(set) var pairs: [(name: String, value: String)] = []

    /// If two pairs have the same name, the first pair stays, with the second pair's value.
    public init(_ pairs: [(name: String, value: String)] = []) {
        for pair in pairs { self[pair.name] = pair.value }
    }

    /// The property's value. Setting nil removes the property, so that librdkafka's default applies.
    public subscript(name: String) -> String? {
        get { pairs.first { $0.name == name }?.value }
        set {
            let index = pairs.firstIndex { $0.name == name }
            switch (index, newValue) {
            case (let index?, let value?): pairs[index].value = value
            case (let index?, nil): pairs.remove(at: index)
            case (nil, let value?): pairs.append((name, value))
            case (nil, nil): break
            }
        }
    }
}

/// Prints names only, because some values are passwords.
extension KafkaProperties: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "KafkaProperties(\(pairs.map(\.name).joined(separator: ", ")))" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["names": pairs.map(\.name)]) }
}
