/// Rows of a page that an operator picked, as fields of a form without a script.
enum PickedRows {
    /// The field that marks a form of picked rows; a form without the field means all rows of the filter.
    static let marker = "picked"

    static func field(_ place: Int) -> String { "pick-\(place)" }

    /// Returns each picked id once; nil if the form lacks the marker.
    static func ids(_ fields: [String: String]) -> [String]? {
        guard fields[marker] != nil else { return nil }
        var seen: Set<String> = []
        return (0..<ListLimits.page).compactMap { fields[field($0)] }.filter { seen.insert($0).inserted }
    }

    static func fields(_ ids: [String]) -> [(String, String)] {
        [(marker, "1")] + ids.enumerated().map { (field($0), $1) }
    }
}
