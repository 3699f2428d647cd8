/// The settings. The raw value is the name in the environment.
package enum SettingName: String, CaseIterable, Sendable {
    case kafkaBootstrapServers = "KAFKA_BOOTSTRAP_SERVERS"
    case kafkaGroupID = "KAFKA_GROUP_ID"
    case kafkaProperties = "KAFKA_PROPERTIES"
    case kafkaSubmissionsTopic = "KAFKA_SUBMISSIONS_TOPIC"
    case kafkaOutcomesTopic = "KAFKA_OUTCOMES_TOPIC"
    case kafkaDeadLettersTopic = "KAFKA_DEAD_LETTERS_TOPIC"
    case kafkaNotificationsTopic = "KAFKA_NOTIFICATIONS_TOPIC"
    case kafkaAccountsTopic = "KAFKA_ACCOUNTS_TOPIC"
    case kafkaConsumptionTopic = "KAFKA_CONSUMPTION_TOPIC"
    case databaseURL = "DATABASE_URL"
    case databasePoolSize = "DATABASE_POOL_SIZE"
    case databasePreparedStatements = "DATABASE_PREPARED_STATEMENTS"
    case databaseGatheringSeconds = "DATABASE_GATHERING_SECONDS"
    case appleVerifyReceiptProductionURL = "APPLE_VERIFY_RECEIPT_PRODUCTION_URL"
    case appleVerifyReceiptSandboxURL = "APPLE_VERIFY_RECEIPT_SANDBOX_URL"
    case appleServerAPIProductionURL = "APPLE_SERVER_API_PRODUCTION_URL"
    case appleServerAPISandboxURL = "APPLE_SERVER_API_SANDBOX_URL"
    case appleTimeoutSeconds = "APPLE_TIMEOUT_SECONDS"
    case appleMaxConcurrency = "APPLE_MAX_CONCURRENCY"
    case appleMaxRequestsPerSecond = "APPLE_MAX_REQUESTS_PER_SECOND"
    case appleCAFile = "APPLE_CA_FILE"
    case appleRootCertificatesFile = "APPLE_ROOT_CERTIFICATES_FILE"
    case retryInitialDelaySeconds = "RETRY_INITIAL_DELAY_SECONDS"
    case retryMaxDelaySeconds = "RETRY_MAX_DELAY_SECONDS"
    case retryDoubtSeconds = "RETRY_DOUBT_SECONDS"
    case retryParkAfterSeconds = "RETRY_PARK_AFTER_SECONDS"
    case maxInFlight = "MAX_IN_FLIGHT"
    case parkedUnprovenMegabytes = "PARKED_UNPROVEN_MEGABYTES"
    case submissionSigningKeys = "SUBMISSION_SIGNING_KEYS"
    case outcomeRetentionDays = "OUTCOME_RETENTION_DAYS"
    case notificationHistorySeconds = "NOTIFICATION_HISTORY_SECONDS"
    case notificationHistoryDays = "NOTIFICATION_HISTORY_DAYS"
    case missedPurchaseSeconds = "MISSED_PURCHASE_SECONDS"
    case consumptionWaitSeconds = "CONSUMPTION_WAIT_SECONDS"
    case localRefusalChecksPerMinute = "LOCAL_REFUSAL_CHECKS_PER_MINUTE"
    case intakeHTTPHost = "INTAKE_HTTP_HOST"
    case intakeHTTPPort = "INTAKE_HTTP_PORT"
    case intakeBundleIDs = "INTAKE_BUNDLE_IDS"
    case consoleHTTPHost = "CONSOLE_HTTP_HOST"
    case consoleHTTPPort = "CONSOLE_HTTP_PORT"
    case consoleHosts = "CONSOLE_HOSTS"
    case consoleUsers = "CONSOLE_USERS"
    case httpHost = "HTTP_HOST"
    case httpPort = "HTTP_PORT"
    case shutdownGraceSeconds = "SHUTDOWN_GRACE_SECONDS"
    case logLevel = "LOG_LEVEL"
    case logFormat = "LOG_FORMAT"

    /// True if the value must not be shown, and may come from a file that `NAME_FILE` names.
    var isSecret: Bool { [.databaseURL, .submissionSigningKeys, .consoleUsers].contains(self) }

    /// The name `NAME_FILE` of a secret; nil for other settings.
    var fileVariant: String? { isSecret ? rawValue + "_FILE" : nil }

    /// The ways to set the setting, for the message about a missing setting.
    var waysToGive: String {
        let path = Self.path(of: rawValue).split(separator: ".").map(String.init)
        let inFile = path.count == 2 ? "\(path[0]): { \(path[1]): … }" : rawValue
        let file = fileVariant.map { " or \($0) in the environment, to the path of a file with the value;" } ?? ""
        return "set \(rawValue) in the environment;\(file) or \(inFile) in the file of --config"
    }

    /// Returns the path in the settings file for a name in the environment. The first word is the section. The other
    /// words, in camel case, are the key. An acronym is an ordinary word (`serverApiProductionUrl`).
    package static func path(of name: String) -> String {
        let words = name.lowercased().split(separator: "_").map(String.init)
        guard let section = words.first else { return "" }
        let key = words.dropFirst().enumerated().map { index, word in
            index == 0 ? word : word.prefix(1).uppercased() + word.dropFirst()
        }
        return "\(section).\(key.joined())"
    }

    /// The names in the environment, by path in the settings file.
    static let namesByPath: [String: String] = {
        let names = allCases.flatMap { [$0.rawValue, $0.fileVariant].compactMap { $0 } }
        return Dictionary(uniqueKeysWithValues: names.map { (path(of: $0), $0) })
    }()
}
