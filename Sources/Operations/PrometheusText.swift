/// Writes the Prometheus text format 0.0.4 (prometheus.io/docs/instrumenting/exposition_formats).
package struct PrometheusText {
    package static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    private(set) var string = ""

    mutating func header(name: String, help: String, kind: MetricKind) {
        string += "# HELP \(name) \(Self.escaped(help, quotes: false))\n# TYPE \(name) \(kind.rawValue)\n"
    }

    mutating func append(_ sample: MetricSample, name: String, labels: [(String, String)]) {
        string += name
        string += sample.suffix
        var labels = labels
        if let bound = sample.upperBound { labels.append(("le", Self.number(bound))) }
        if !labels.isEmpty {
            string += "{"
            string += labels.map { "\($0)=\"\(Self.escaped($1, quotes: true))\"" }.joined(separator: ",")
            string += "}"
        }
        string += " \(Self.number(sample.value))\n"
    }

    static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        // Counts and bytes are written as integers. Above 2^53 a Double cannot represent every integer.
        if let whole = Int(exactly: value), whole.magnitude < 1 << 53 { return String(whole) }
        return value.description
    }

    static func escaped(_ text: String, quotes: Bool) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\"" where quotes: result += "\\\""
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    static func isMetricName(_ name: String) -> Bool { isName(name, colons: true) }

    /// Returns true for a valid label name. `le` is not valid: histograms' buckets have it.
    static func isLabelName(_ name: String) -> Bool {
        isName(name, colons: false) && !name.hasPrefix("__") && name != "le"
    }

    private static func isName(_ name: String, colons: Bool) -> Bool {
        guard let first = name.utf8.first, !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first) else {
            return false
        }
        return name.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
                true
            default:
                colons && byte == UInt8(ascii: ":")
            }
        }
    }
}
