import BackOffice
import Fulfillment
import NamesAndTimes
import ReceiptdConfiguration

/// Collects those apps of a file that are not in the catalog: misspelled ones, or apps that are no longer sold. The
/// import stores the rows of these apps too.
package struct UnknownApps {
    /// The most apps that the warnings name. The rows of all other apps are counted together.
    static let maximumTold = 20

    private let known: Set<BundleID>
    private var found: [BundleID: (rows: Int, firstLine: Int)] = [:]
    private var untold = 0

    package init(catalog: Catalog) {
        known = Set(catalog.apps.keys)
    }

    package mutating func note(_ grant: ImportedGrant) {
        guard !known.contains(grant.bundleID) else { return }
        if let earlier = found[grant.bundleID] {
            found[grant.bundleID] = (earlier.rows + 1, earlier.firstLine)
        } else if found.count < Self.maximumTold {
            found[grant.bundleID] = (1, grant.line)
        } else {
            untold += 1
        }
    }

    /// A warning for each named app, in the order of the file, and one warning for all other apps.
    package var warnings: [String] {
        var lines = found.sorted { $0.value.firstLine < $1.value.firstLine }.map { app, place in
            "warning: the catalog has no app \(ShownText.quoted(app.text)): \(place.rows) rows from line \(place.firstLine) on"
        }
        if untold > 0 { lines.append("warning: \(untold) more rows of other apps that the catalog does not have") }
        return lines
    }
}
