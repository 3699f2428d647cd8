/// The properties in `KAFKA_PROPERTIES`, written as `name=value;name=value`. The list ignores white space around names
/// and values, and empty segments. A value may contain `=`. A separator counts even before a combining mark, because
/// librdkafka reads bytes.
package struct KafkaPropertyList {
    package private(set) var pairs: [(name: String, value: String)] = []
    /// The faults as sentences. They contain names, and never values.
    private(set) var faults: [String] = []

    package init(_ text: String) {
        var names: Set<Substring> = []
        let segments = text.utf8.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
        for (index, bytes) in segments.enumerated() {
            let segment = Substring(bytes).trimmed
            if segment.isEmpty { continue }
            guard let equals = segment.utf8.firstIndex(of: UInt8(ascii: "=")) else {
                // The segment may be the rest of a password that contains a semicolon. So the fault has only the
                // segment's number.
                faults.append("segment \(index + 1) has no '=': it must be name=value")
                continue
            }
            let name = segment[..<equals].trimmed
            guard !name.isEmpty else {
                faults.append("segment \(index + 1) has no name before its '='")
                continue
            }
            guard names.insert(name).inserted else {
                faults.append("\(ShownText.plain(String(name))) is given more than once")
                continue
            }
            pairs.append((String(name), String(segment[segment.utf8.index(after: equals)...].trimmed)))
        }
    }
}

extension StringProtocol {
    /// The text without white space at both ends.
    package var trimmed: SubSequence {
        guard let start = firstIndex(where: { !$0.isWhitespace }), let end = lastIndex(where: { !$0.isWhitespace })
        else {
            return self[endIndex...]
        }
        return self[start...end]
    }
}
