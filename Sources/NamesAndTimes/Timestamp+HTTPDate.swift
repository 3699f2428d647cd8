extension Timestamp {
    /// Reads the date in an HTTP header (RFC 9110, section 5.6.7), in the present form or one of the two obsolete
    /// forms. Returns nil if the text has none of the three forms.
    public init?(httpDate text: String) {
        guard let time = HTTPDate.parse(text) else { return nil }
        self = time
    }
}

private enum HTTPDate {
    static func parse(_ text: String) -> Timestamp? {
        let fields = text.split { $0 == " " || $0 == "-" || $0 == "," }.map(String.init)
        switch fields.count {
        // Sun, 06 Nov 1994 08:49:37 GMT, or Sunday, 06-Nov-94 08:49:37 GMT
        case 6 where fields[5] == "GMT":
            return timestamp(year: fields[3], month: fields[2], day: fields[1], time: fields[4])
        // Sun Nov  6 08:49:37 1994
        case 5:
            return timestamp(year: fields[4], month: fields[1], day: fields[2], time: fields[3])
        default: return nil
        }
    }

    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    private static func timestamp(year: String, month: String, day: String, time: String) -> Timestamp? {
        guard let index = months.firstIndex(of: month) else { return nil }
        // A year of two digits is a year of the present century, because the dates in a response are near the present.
        let fullYear = year.utf8.count == 2 ? "20" + year : year
        return Timestamp(rfc3339: "\(fullYear)-\(twoDigits(String(index + 1)))-\(twoDigits(day))T\(time)Z")
    }

    private static func twoDigits(_ text: String) -> String { text.utf8.count == 1 ? "0" + text : text }
}
