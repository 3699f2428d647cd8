import Fulfillment
import Logging

/// All that receiptd is told from outside, once it is known to be sound. `Settings.Reader` is the only way in.
///
/// It has no `description` of its own; what the start-up log says is `redactedSummary`.
package struct Settings: Sendable {
    package var kafka = KafkaSettings()
    package var database = DatabaseSettings()
    package var apple = AppleSettings()
    package var retry = RetrySettings()
    /// Submissions in memory.
    package var maxInFlight = 2000
    /// Any of them may sign a submission; empty: nothing is checked.
    package var submissionSigningKeys: [Secret] = []
    /// Days after which decided submissions are forgotten.
    package var outcomeRetentionDays = 30
    /// The settings for Apple's announcements.
    package var announcements = AnnouncementSettings()
    package var servers = ServerSettings()
    /// Seconds in which a stopping worker finishes what is in flight.
    package var shutdownGraceSeconds = 25.0
    package var log = LogSettings()
    /// The warnings at the start.
    package var warnings: [SettingsWarning] = []
}

package struct DatabaseSettings: Sendable {
    /// A libpq connection URI. Empty where the command does not require the database and none is set.
    package var url = Secret("")
    /// The file of the URI; nil if the URI itself is given.
    package var urlFile: String?
    /// The file's present URI, for the next connection; nil without a file, or if it holds no URI.
    package var latestURL: Secret? {
        guard let urlFile,
            case .success(let secret) = SecretSource.resolve(
                SettingName.databaseURL.rawValue, value: nil, file: urlFile)
        else { return nil }
        return secret.flatMap { Self.uri($0.value) }
    }

    /// Returns nil if the text is no URI.
    static func uri(_ text: String) -> Secret? {
        let isURI = text.hasPrefix("postgresql://") || text.hasPrefix("postgres://")
        return isURI && !text.unicodeScalars.contains { $0.value < 0x20 } ? Secret(text) : nil
    }
    /// Connections.
    package var poolSize = 4
    /// False for PgBouncer in transaction mode before 1.21.
    package var usesPreparedStatements = true
    /// Seconds that a writer waits behind a small batch at most, where others are likely to come meanwhile.
    package var gatheringSeconds = 0.025
}

package struct RetrySettings: Sendable {
    /// 0.5 s, doubling to 300 s; doubtful answers over 600 s.
    package var delay = RetryDelay()
    /// Seconds after which a retrying submission leaves memory for PostgreSQL.
    package var parkAfterSeconds = 30.0
    /// The most megabytes of unproven proofs, parked in the whole fleet. A megabyte is 1,000,000 bytes.
    package var unprovenMegabytes = 512

    package var unprovenBytes: Int64 { Int64(unprovenMegabytes) * 1_000_000 }

    /// No delay that these settings make is longer.
    package var longestSeconds: Double { max(delay.maximumSeconds, delay.doubtSeconds, parkAfterSeconds) }
}

package struct AnnouncementSettings: Sendable {
    /// Seconds between two rounds of Apple's notification history, for each app; 0 never.
    package var historySeconds = 600.0
    /// The days that the first round goes back.
    package var historyDays = 30
    /// Seconds that an announced purchase waits for its submission.
    package var missedPurchaseSeconds = 900.0
    /// Seconds that a refund request waits for the game's report.
    package var consumptionWaitSeconds = 3600.0
    package var intake = IntakeSettings()
}

extension Settings {
    package var http: HTTPSettings {
        get { servers.http }
        set { servers.http = newValue }
    }

    package var console: ConsoleSettings {
        get { servers.console }
        set { servers.console = newValue }
    }
}

/// The settings of the HTTP servers, but for the intake.
package struct ServerSettings: Sendable {
    /// A worker's.
    package var http = HTTPSettings()
    package var console = ConsoleSettings()
}

package struct HTTPSettings: Sendable {
    package var host = "127.0.0.1"
    /// 0 takes a free port.
    package var port = 8080

    /// Whether only this machine reaches it.
    package var isOnLoopback: Bool { Self.isLoopback(host) }

    package static func isLoopback(_ host: String) -> Bool {
        let host = host.lowercased()
        return host == "localhost" || host == "::1" || host == "[::1]" || host.hasSuffix(".localhost")
            || (host.hasPrefix("127.") && host.split(separator: ".").count == 4
                && host.utf8.allSatisfy { $0 == 0x2E || (0x30...0x39).contains($0) })
    }
}

package struct LogSettings: Sendable {
    /// The look of a line.
    package enum Format: String, CaseIterable, Sendable {
        case json
        case text
    }

    package var level = Logger.Level.info
    package var format = Format.json
}
