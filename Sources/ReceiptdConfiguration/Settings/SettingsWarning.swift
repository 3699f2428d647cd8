/// A warning about a setting that is valid but probably a mistake. Its text never contains a secret.
package struct SettingsWarning: Sendable, Equatable, CustomStringConvertible {
    package enum Kind: Sendable {
        /// The name is like a setting's name. Every command ignores the variable.
        case name
        /// The value is probably a mistake. The warning concerns only commands that use the setting.
        case value
    }

    package let kind: Kind
    /// The name of the variable in the environment.
    package let setting: String
    package let message: String

    package var description: String { "warning: \(ShownText.plain(setting)): \(message)" }
}

/// Finds names that are nearly a setting's name.
enum NearName {
    /// The most letters in which a name may differ.
    static let maximumDistance = 2

    /// Returns a warning for each environment variable that is no setting, but whose name differs from a setting's by
    /// at most two letters.
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

    /// Returns the nearest candidate; nil if no candidate is near. Of several equally near candidates, returns the
    /// first.
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

    /// Returns the Levenshtein distance: the number of letters to insert, delete or replace.
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
