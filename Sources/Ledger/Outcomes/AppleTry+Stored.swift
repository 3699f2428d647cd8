import Encodings
import Fulfillment
import NamesAndTimes

/// The stored form of tries. Each try is `[milliseconds since 1970, endpoint, environment, result, status,
/// milliseconds]`. The form has no names, because names would be most of the bytes, and every decision stores its
/// tries.
extension [AppleTry] {
    var storedText: String {
        var json = JSONWriter(capacity: 96 * count)
        json.write(self)
        return String(decoding: json.bytes, as: UTF8.self)
    }

    /// Reads stored tries; an empty list if the text has another form.
    init(stored text: String?) {
        let rows = text.flatMap { try? JSONParser.parse([UInt8]($0.utf8)).value.array } ?? []
        self = rows.suffix(AppleTry.maximumKept).compactMap(AppleTry.init(stored:))
    }
}

extension AppleTry {
    package init?(stored row: JSONValue) {
        guard let fields = row.array, fields.count == 6, let at = fields[0].whole, let result = fields[3].string
        else { return nil }
        self.init(
            at: Timestamp(milliseconds: at), endpoint: fields[1].string,
            environment: fields[2].string.flatMap(StoreEnvironment.init(rawValue:)), result: result,
            status: fields[4].whole, milliseconds: fields[5].whole ?? 0)
    }
}

extension JSONWriter {
    mutating func write(_ tries: [AppleTry]) {
        beginArray()
        for one in tries {
            beginArray()
            number(one.at.milliseconds)
            optional(one.endpoint)
            optional(one.environment?.rawValue)
            string(one.result)
            if let status = one.status { number(status) } else { null() }
            number(one.milliseconds)
            endArray()
        }
        endArray()
    }

    private mutating func optional(_ text: String?) {
        if let text { string(text) } else { null() }
    }
}

extension JSONValue {
    package var whole: Int64? {
        if case .number(let text) = self { Int64(text) } else { nil }
    }
}
