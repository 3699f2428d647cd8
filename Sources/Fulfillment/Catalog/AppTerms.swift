/// One app's terms in one version of the catalog. The type is a class, because every step of a submission reads the
/// terms, and a copy of the policy would change a dozen reference counts.
public final class AppTerms: Sendable, Equatable {
    public let app: AppPolicy
    public let catalogVersion: Int64

    public init(_ app: AppPolicy, catalogVersion: Int64) {
        self.app = app
        self.catalogVersion = catalogVersion
    }

    public static func == (left: AppTerms, right: AppTerms) -> Bool {
        left === right || (left.catalogVersion == right.catalogVersion && left.app == right.app)
    }
}
