import Encodings
import Fulfillment

/// Reads a product's payload, and writes it as compact JSON. Keys keep the order of the file, and numbers keep their
/// digits.
///
/// Scalars have the types of YAML 1.2's core schema. Only `true` and `false` are booleans; `yes`, `on`, dates and times
/// are text. A number that YAML 1.1 reads as another number (`010`, `1_000`, `0x1F`) is a fault.
extension CatalogReader {
    mutating func payload(_ node: YAMLNode) -> String? {
        switch node.content {
        case .mapping: break
        case .unreadable: return nil
        case .scalar, .sequence:
            fail(node.position, "`payload` must be a mapping, `key: value`")
            return nil
        }
        var writer = JSONWriter(capacity: 64)
        write(node, depth: 1, to: &writer)
        guard writer.bytes.count <= CatalogLimits.payloadSize else {
            fail(node.position, "`payload` is larger than \(CatalogLimits.payloadSize) bytes as JSON")
            return nil
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    private mutating func write(_ node: YAMLNode, depth: Int, to writer: inout JSONWriter) {
        switch node.content {
        case .scalar(let scalar): return write(scalar, at: node.position, to: &writer)
        case .unreadable: return writer.null()
        case .sequence, .mapping: break
        }
        guard depth <= CatalogLimits.payloadDepth else {
            fail(node.position, "`payload` is nested deeper than \(CatalogLimits.payloadDepth) levels")
            return writer.null()
        }
        if case .sequence(let elements) = node.content {
            writer.beginArray()
            for element in elements { write(element, depth: depth + 1, to: &writer) }
            writer.endArray()
        } else if case .mapping(let entries) = node.content {
            writer.beginObject()
            for entry in entries {
                if entry.name.utf8.contains(0) { fail(entry.position, "a key of `payload` holds NUL") }
                writer.name(entry.name)
                write(entry.value, depth: depth + 1, to: &writer)
            }
            writer.endObject()
        }
    }

    private mutating func write(_ scalar: YAMLScalar, at position: TextPosition, to writer: inout JSONWriter) {
        guard scalar.isPlain else { return write(text: scalar.text, at: position, to: &writer) }
        switch scalar.text {
        case _ where scalar.isNull: writer.null()
        case "true", "True", "TRUE": writer.bool(true)
        case "false", "False", "FALSE": writer.bool(false)
        default:
            switch YAMLNumber(scalar.text) {
            case .number(let json): writer.raw(json)
            case .notFinite: fail(position, "JSON has no number \(ShownText.quoted(scalar.text))")
            case .ambiguous:
                let remedy = "write it in quotes, or in plain decimal"
                fail(position, "other YAML readers take \(ShownText.quoted(scalar.text)) for another number: \(remedy)")
            case .text: write(text: scalar.text, at: position, to: &writer)
            }
        }
    }

    private mutating func write(text: String, at position: TextPosition, to writer: inout JSONWriter) {
        if text.utf8.contains(0) { fail(position, "a text of `payload` holds NUL") }
        writer.string(text)
    }
}
