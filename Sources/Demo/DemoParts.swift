import ReceiptdConfiguration

/// The real Kafka and PostgreSQL that the demo's options name. The demo ignores the environment, so that it never uses
/// production by accident.
package struct DemoParts {
    private let kafka: String?
    private let database: String?

    package init(kafka: String?, database: String?) {
        self.kafka = kafka
        self.database = database
    }

    /// Returns the settings with which a worker uses these servers.
    package func environment(from environment: [String: String]) -> [String: String] {
        var given: [String: String] = [:]
        if let kafka {
            given[SettingName.kafkaBootstrapServers.rawValue] = kafka
            given[SettingName.kafkaProperties.rawValue] = environment[SettingName.kafkaProperties.rawValue]
        }
        if let database { given[SettingName.databaseURL.rawValue] = database }
        return given
    }

    /// Returns a note about settings in the environment that the demo ignores; nil if there are none.
    package func note(on environment: [String: String]) -> String? {
        let names = [SettingName.kafkaBootstrapServers.rawValue, SettingName.databaseURL.rawValue]
            .filter { environment[$0]?.isEmpty == false }
        let ofLibpq = environment.keys.filter { $0.hasPrefix("PG") }.sorted()
        guard !(names + ofLibpq).isEmpty else { return nil }
        return
            "The demo ignores \((names + ofLibpq).joined(separator: ", ")). Name a real broker with --kafka, a real "
            + "database with --database."
    }
}
