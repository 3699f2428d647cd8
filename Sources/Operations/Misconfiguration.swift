import Synchronization

/// The apps that wait for an operator: one is misconfigured for as long as any cause says so. Behind
/// `receiptd_misconfigured`, so that the end of one cause does not hide another.
public final class Misconfiguration: Sendable {
    private let gauge: GaugeFamily
    private let causes = Mutex<[String: Set<String>]>([:])

    init(gauge: GaugeFamily) {
        self.gauge = gauge
    }

    public func set(_ bundleID: String, _ cause: String, _ holds: Bool) {
        causes.withLock { causes in
            if holds {
                causes[bundleID, default: []].insert(cause)
            } else {
                causes[bundleID]?.remove(cause)
                if causes[bundleID]?.isEmpty == true { causes[bundleID] = nil }
            }
            gauge.with(bundleID).set(causes[bundleID] != nil)
        }
    }
}
