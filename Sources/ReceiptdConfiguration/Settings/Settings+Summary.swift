import Fulfillment
import Kafka
import Logging
import NamesAndTimes

extension Settings {
    /// The settings and their values for the log at the start. Of a secret, the summary shows only the number of keys
    /// or users, or the database's host and name. Of the operator's Kafka properties, it shows only the names.
    package var redactedSummary: [(String, String)] {
        let rows: [(SettingName, String)] = [
            (.kafkaBootstrapServers, kafka.bootstrapServers),
            (.kafkaGroupID, kafka.groupID),
            (.kafkaProperties, kafka.properties.pairs.map(\.name).joined(separator: ", ")),
            (.kafkaSubmissionsTopic, kafka.submissionsTopic),
            (.kafkaOutcomesTopic, kafka.outcomesTopic),
            (.kafkaDeadLettersTopic, kafka.deadLettersTopic),
            (.kafkaNotificationsTopic, kafka.notificationsTopic),
            (.kafkaAccountsTopic, kafka.accountsTopic),
            (.kafkaConsumptionTopic, kafka.consumptionTopic),
            (.databaseURL, DatabasePlace.shown(database.url)),
            (.databasePoolSize, "\(database.poolSize)"),
            (.databasePreparedStatements, database.usesPreparedStatements ? "on" : "off"),
            (.databaseGatheringSeconds, "\(database.gatheringSeconds)"),
            (.appleVerifyReceiptProductionURL, apple.verifyReceiptProductionURL),
            (.appleVerifyReceiptSandboxURL, apple.verifyReceiptSandboxURL),
            (.appleServerAPIProductionURL, apple.serverAPIProductionURL),
            (.appleServerAPISandboxURL, apple.serverAPISandboxURL),
            (.appleTimeoutSeconds, "\(apple.timeoutSeconds)"),
            (.appleMaxConcurrency, "\(apple.maxConcurrency)"),
            (.appleMaxRequestsPerSecond, "\(apple.maxRequestsPerSecond)"),
            (.appleCAFile, apple.caFile ?? ""),
            (.appleRootCertificatesFile, apple.rootCertificatesFile ?? ""),
            (.retryInitialDelaySeconds, "\(retry.delay.initialSeconds)"),
            (.retryMaxDelaySeconds, "\(retry.delay.maximumSeconds)"),
            (.retryDoubtSeconds, "\(retry.delay.doubtSeconds)"),
            (.retryParkAfterSeconds, "\(retry.parkAfterSeconds)"),
            (.maxInFlight, "\(maxInFlight)"),
            (.parkedUnprovenMegabytes, "\(retry.unprovenMegabytes)"),
            (.submissionSigningKeys, "\(submissionSigningKeys.count) keys"),
            (.outcomeRetentionDays, "\(outcomeRetentionDays)"),
            (.notificationHistorySeconds, "\(announcements.historySeconds)"),
            (.notificationHistoryDays, "\(announcements.historyDays)"),
            (.missedPurchaseSeconds, "\(announcements.missedPurchaseSeconds)"),
            (.consumptionWaitSeconds, "\(announcements.consumptionWaitSeconds)"),
            (.localRefusalChecksPerMinute, "\(apple.localRefusalChecksPerMinute)"),
            (.intakeHTTPHost, announcements.intake.http.host),
            (.intakeHTTPPort, "\(announcements.intake.http.port)"),
            (.intakeBundleIDs, announcements.intake.apps.text),
            (.consoleHTTPHost, console.http.host),
            (.consoleHTTPPort, "\(console.http.port)"),
            (.consoleHosts, console.hosts.sorted().joined(separator: ",")),
            (.consoleUsers, "\(console.users.count) users"),
            (.httpHost, http.host),
            (.httpPort, "\(http.port)"),
            (.shutdownGraceSeconds, "\(shutdownGraceSeconds)"),
            (.logLevel, log.level.rawValue),
            (.logFormat, log.format.rawValue),
        ]
        return rows.map { ($0.0.rawValue, $0.1) }
    }
}

/// The part of a connection URI without secrets.
enum DatabasePlace {
    private static let hidden = "(hidden)"

    /// Returns host, port and database; `(hidden)` if the text could contain a password.
    static func shown(_ url: Secret) -> String {
        guard let start = url.value.firstRange(of: "://")?.upperBound else { return url.value.isEmpty ? "" : hidden }
        let parts = url.value[start...].split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let query = parts.count > 1 ? parts[1] : ""
        // If a password contains an unescaped '?', the '@' is in the query.
        guard let address = parts.first, !query.contains("@") else { return hidden }
        var place = String(address.split(separator: "@", omittingEmptySubsequences: false).last ?? "")
        let host = query.split(separator: "&").first { $0.hasPrefix("host=") }?.dropFirst("host=".count)
        if place.hasPrefix("/") || place.isEmpty, let host { place = host + place }
        let isPlain = place.unicodeScalars.allSatisfy { scalar in
            scalar.properties.isAlphabetic || "0123456789._-:,[]%/".unicodeScalars.contains(scalar)
        }
        return isPlain && hasNumericPorts(place) ? place : hidden
    }

    /// Returns true if every port is a number. If the operator forgot the host, the text after a colon may be a
    /// password.
    private static func hasNumericPorts(_ place: String) -> Bool {
        place.prefix { $0 != "/" }.split(separator: ",").allSatisfy { host in
            guard let colon = host.lastIndex(of: ":"), !host.hasSuffix("]") else { return true }
            return host[host.index(after: colon)...].utf8.allSatisfy { (0x30...0x39).contains($0) }
        }
    }
}
