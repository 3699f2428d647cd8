import Synchronization

/// The apps that wait for an operator, for `receiptd_misconfigured`. An app is misconfigured as long as it has at least
/// one cause.
public final class Misconfiguration: Sendable {
    private let gauge: GaugeFamily
    /// A clause for the operator, by app and cause.
    private let causes = Mutex<[String: [String: String]]>([:])

    init(gauge: GaugeFamily) {
        self.gauge = gauge
    }

    /// Sets or ends one cause for an app.
    /// - Parameter sentence: a clause that names the fault and the remedy; nil ends the cause.
    public func set(_ bundleID: String, _ cause: String, because sentence: String?) {
        causes.withLock { causes in
            causes[bundleID, default: [:]][cause] = sentence
            if causes[bundleID]?.isEmpty == true { causes[bundleID] = nil }
            gauge.with(bundleID).set(causes[bundleID] != nil)
        }
    }

    /// A clause for each app and cause, sorted.
    var sentences: [String] {
        causes.withLock { causes in
            causes.flatMap { app in app.value.values.map { "\(app.key) waits for an operator: \($0)" } }
        }.sorted()
    }
}
