/// A warning that the settings look mistaken without being faulty. The text never holds the value of a secret.
package struct SettingsWarning: Sendable, Equatable, CustomStringConvertible {
    package enum Kind: Sendable {
        /// The name is no setting's, so every command ignores the variable.
        case name
        /// The value looks mistaken, which matters only to commands that use the setting.
        case value
    }

    package let kind: Kind
    /// The name in the environment.
    package let setting: String
    package let message: String

    package var description: String { "warning: \(ShownText.plain(setting)): \(message)" }
}

/// Finds names that resemble a setting's name.
enum NearName {
    /// The most letters that are wrong, missing or added.
    static let maximumDistance = 2

    /// Returns a warning for each environment variable that is no setting and at most two letters from one.
    static func warnings(_ environment: [String: String]) -> [SettingsWarning] {
        let names = SettingName.allCases.flatMap { [$0.rawValue, $0.fileVariant].compactMap(\.self) }
        let known = Set(names)
        return environment.keys.filter { !known.contains($0) }.sorted().compactMap { name in
            nearest(to: name, among: names).map {
                SettingsWarning(
                    kind: .name, setting: name, message: "there is no setting of this name: is \($0) meant?")
            }
        }
    }

    /// Returns the nearest candidate, the first of equals; nil if no candidate is near.
    static func nearest(to name: String, among candidates: [String]) -> String? {
        var best: (name: String, distance: Int)?
        let letters = Array(name.utf8)
        for candidate in candidates {
            let other = Array(candidate.utf8)
            guard abs(other.count - letters.count) <= maximumDistance else { continue }
            let distance = distance(letters, other)
            if distance <= maximumDistance, distance < best?.distance ?? .max { best = (candidate, distance) }
        }
        return best?.name
    }

    /// Returns the Levenshtein distance: the insertions, deletions and replacements that turn one name into the other.
    private static func distance(_ left: [UInt8], _ right: [UInt8]) -> Int {
        var row = Array(0...right.count)
        for (index, letter) in left.enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for (column, other) in right.enumerated() {
                let replaced = diagonal + (letter == other ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = min(replaced, row[column] + 1, diagonal + 1)
            }
        }
        return row[right.count]
    }
}
