import Fulfillment

/// What one version of the catalog says of one app. A class: it is kept while Apple is asked, by thousands at once.
final class AppTerms: Sendable {
    let app: AppPolicy
    let catalogVersion: Int64

    /// Nil where the catalog does not hold the app.
    init?(of bundleID: BundleID, in catalog: Catalog) {
        guard let app = catalog.apps[bundleID] else { return nil }
        self.app = app
        catalogVersion = catalog.version
    }
}
