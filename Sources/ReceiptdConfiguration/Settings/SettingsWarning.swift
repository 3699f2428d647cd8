/// Something about the settings that is no fault, but looks mistaken. Never holds the value of a secret.
package struct SettingsWarning: Sendable, Equatable, CustomStringConvertible {
    package enum Kind: Sendable {
        /// A name that is no setting's: whichever command runs, what was meant does not count.
        case name
        /// A value: of interest to those commands that go by it.
        case value
    }

    package let kind: Kind
    /// The name in the environment.
    package let setting: String
    package let message: String

    package var description: String { "warning: \(ShownText.plain(setting)): \(message)" }
}

/// Finds names that are almost a setting's.
enum NearName {
    /// Letters that are wrong, missing or too many.
    static let maximumDistance = 2

    /// A warning for each variable of the environment that is no setting and at most two letters from one.
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

    /// Returns nil if none is near. The nearest of several wins, then the first.
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

    /// Levenshtein's: insertions, deletions and replacements that make one of the other.
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
