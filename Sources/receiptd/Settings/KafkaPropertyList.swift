/// `KAFKA_PROPERTIES`, taken apart: `name=value;name=value`. White space around names and values does not count, empty
/// segments neither; a value may hold `=`.
struct KafkaPropertyList {
    private(set) var pairs: [(name: String, value: String)] = []
    /// Sentences that hold names, never values.
    private(set) var faults: [String] = []

    init(_ text: String) {
        for (index, segment) in text.split(separator: ";", omittingEmptySubsequences: false).enumerated() {
            let segment = segment.trimmed
            if segment.isEmpty { continue }
            guard let equals = segment.firstIndex(of: "=") else {
                // What stands there may be the rest of a password that holds a semicolon.
                faults.append("segment \(index + 1) has no '=': it must be name=value")
                continue
            }
            let name = segment[..<equals].trimmed
            guard !name.isEmpty else {
                faults.append("segment \(index + 1) has no name before its '='")
                continue
            }
            guard !pairs.contains(where: { $0.name == name }) else {
                faults.append("\(ShownText.plain(String(name))) is given more than once")
                continue
            }
            pairs.append((String(name), String(segment[segment.index(after: equals)...].trimmed)))
        }
    }
}

extension StringProtocol {
    /// Without white space at both ends.
    var trimmed: SubSequence {
        guard let start = firstIndex(where: { !$0.isWhitespace }), let end = lastIndex(where: { !$0.isWhitespace })
        else {
            return self[endIndex...]
        }
        return self[start...end]
    }
}
