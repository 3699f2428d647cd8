/// Rows of a page that an operator picked, as fields of a form without a script.
enum PickedRows {
    /// Tells a form in which none is picked from one for all that a filter shows.
    static let marker = "picked"

    static func field(_ place: Int) -> String { "pick-\(place)" }

    /// Returns each id once; nil if the form cannot pick any.
    static func ids(_ fields: [String: String]) -> [String]? {
        guard fields[marker] != nil else { return nil }
        var seen: Set<String> = []
        return (0..<ListLimits.page).compactMap { fields[field($0)] }.filter { seen.insert($0).inserted }
    }

    static func fields(_ ids: [String]) -> [(String, String)] {
        [(marker, "1")] + ids.enumerated().map { (field($0), $1) }
    }
}
