/// The rows of a page that an operator picked, as fields of an HTML form.
enum PickedRows {
    /// The field that marks a form of picked rows. A form without this field is about all rows that the filter selects.
    static let marker = "picked"

    static func field(_ place: Int) -> String { "pick-\(place)" }

    /// Returns the picked ids, each once; nil if the form lacks the marker.
    static func ids(_ fields: [String: String]) -> [String]? {
        guard fields[marker] != nil else { return nil }
        var seen: Set<String> = []
        return (0..<ListLimits.page).compactMap { fields[field($0)] }.filter { seen.insert($0).inserted }
    }

    static func fields(_ ids: [String]) -> [(String, String)] {
        [(marker, "1")] + ids.enumerated().map { (field($0), $1) }
    }
}
