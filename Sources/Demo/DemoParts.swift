import ReceiptdConfiguration

/// The real parts that the demo was told to use. Only its options count: whoever tries it out on a machine that is set
/// up for production must not reach production by it.
package struct DemoParts {
    private let kafka: String?
    private let database: String?

    package init(kafka: String?, database: String?) {
        self.kafka = kafka
        self.database = database
    }

    /// The settings that name them.
    package func environment(from environment: [String: String]) -> [String: String] {
        var given: [String: String] = [:]
        if let kafka {
            given[SettingName.kafkaBootstrapServers.rawValue] = kafka
            given[SettingName.kafkaProperties.rawValue] = environment[SettingName.kafkaProperties.rawValue]
        }
        if let database { given[SettingName.databaseURL.rawValue] = database }
        return given
    }

    /// Says what of the environment is not used; nil where there is nothing.
    package func note(on environment: [String: String]) -> String? {
        let names = [SettingName.kafkaBootstrapServers.rawValue, SettingName.databaseURL.rawValue]
            .filter { environment[$0]?.isEmpty == false }
        let ofLibpq = environment.keys.filter { $0.hasPrefix("PG") }.sorted()
        guard !(names + ofLibpq).isEmpty else { return nil }
        return
            "Not used by the demo: \((names + ofLibpq).joined(separator: ", ")). Real parts are named by --kafka and "
            + "--database."
    }
}
