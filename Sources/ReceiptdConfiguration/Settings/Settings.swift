import Fulfillment
import Logging

/// The checked settings of receiptd. Only `Settings.Reader` makes them.
package struct Settings: Sendable {
    package var kafka = KafkaSettings()
    package var database = DatabaseSettings()
    package var apple = AppleSettings()
    package var retry = RetrySettings()
    /// The most submissions in flight in one worker.
    package var maxInFlight = 2000
    /// The keys for signatures of submissions. One valid signature is enough. Empty if workers check no signatures.
    package var submissionSigningKeys: [Secret] = []
    /// The days for which receiptd keeps decided submissions.
    package var outcomeRetentionDays = 30
    /// The settings for Apple's announcements.
    package var announcements = AnnouncementSettings()
    package var servers = ServerSettings()
    /// The seconds that a stopping worker has for the submissions in flight.
    package var shutdownGraceSeconds = 25.0
    package var log = LogSettings()
    /// The warnings that receiptd logs at the start.
    package var warnings: [SettingsWarning] = []
}

package struct DatabaseSettings: Sendable {
    /// The connection URI for libpq; empty if the setting is missing and the command needs no database.
    package var url = Secret("")
    /// The path of the file with the URI; nil if the setting itself is the URI.
    package var urlFile: String?
    /// The URI in the file now, for the next connection; nil without a file, or if the file contains no URI.
    package var latestURL: Secret? {
        guard let urlFile,
            case .success(let secret) = SecretSource.resolve(
                SettingName.databaseURL.rawValue, value: nil, file: urlFile)
        else { return nil }
        return secret.flatMap { Self.uri($0.value) }
    }

    /// Returns the URI; nil if the text is no URI.
    static func uri(_ text: String) -> Secret? {
        let isURI = text.hasPrefix("postgresql://") || text.hasPrefix("postgres://")
        return isURI && !text.unicodeScalars.contains { $0.value < 0x20 } ? Secret(text) : nil
    }
    /// The number of connections.
    package var poolSize = 4
    /// True if sessions use prepared statements. PgBouncer before 1.21 needs false in transaction mode.
    package var usesPreparedStatements = true
    /// The longest time that a writer waits for further decisions to join a small batch, in seconds.
    package var gatheringSeconds = 0.025
}

package struct RetrySettings: Sendable {
    /// The delays between two tries. Each is random, below a limit that doubles from 0.5 s to 300 s. The three tries
    /// about a doubtful answer are spread over 600 s.
    package var delay = RetryDelay()
    /// The seconds after which a worker parks a submission that it retries.
    package var parkAfterSeconds = 30.0
    /// The most megabytes of parked proofs that are not proven, in the whole fleet. A megabyte is 1,000,000 bytes.
    package var unprovenMegabytes = 512

    package var unprovenBytes: Int64 { Int64(unprovenMegabytes) * 1_000_000 }

    /// The longest wait for the next try with these settings, in seconds.
    package var longestSeconds: Double { max(delay.maximumSeconds, delay.doubtSeconds, parkAfterSeconds) }
}

package struct AnnouncementSettings: Sendable {
    /// The seconds between two reads of Apple's notification history, for each app; 0 reads no history.
    package var historySeconds = 600.0
    /// The days of the notification history that the first read covers.
    package var historyDays = 30
    /// The seconds for which an announced purchase waits for its submission.
    package var missedPurchaseSeconds = 900.0
    /// The seconds for which a refund request waits for the game server's report.
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

/// The settings of the worker's and the console's HTTP servers.
package struct ServerSettings: Sendable {
    /// The worker's HTTP server.
    package var http = HTTPSettings()
    package var console = ConsoleSettings()
}

package struct HTTPSettings: Sendable {
    package var host = "127.0.0.1"
    /// The port; 0 takes a free port.
    package var port = 8080

    /// True if only this machine can reach the server.
    package var isOnLoopback: Bool { Self.isLoopback(host) }

    package static func isLoopback(_ host: String) -> Bool {
        let host = host.lowercased()
        return host == "localhost" || host == "::1" || host == "[::1]" || host.hasSuffix(".localhost")
            || (host.hasPrefix("127.") && host.split(separator: ".").count == 4
                && host.utf8.allSatisfy { $0 == 0x2E || (0x30...0x39).contains($0) })
    }
}

package struct LogSettings: Sendable {
    /// The form of a log line.
    package enum Format: String, CaseIterable, Sendable {
        case json
        case text
    }

    package var level = Logger.Level.info
    package var format = Format.json
}
