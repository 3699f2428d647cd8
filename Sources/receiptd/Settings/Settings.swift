import Fulfillment
import Logging
import Operations

/// All that receiptd is told from outside, once it is known to be sound. `Settings.Reader` is the only way in.
///
/// It has no `description` of its own; what the start-up log says is `redactedSummary`.
struct Settings: Sendable {
    var kafka = KafkaSettings()
    var database = DatabaseSettings()
    var apple = AppleSettings()
    var retry = RetrySettings()
    /// Submissions in memory.
    var maxInFlight = 2000
    /// Any of them may sign a submission; empty: nothing is checked.
    var submissionSigningKeys: [Secret] = []
    /// Days after which decided submissions are forgotten.
    var outcomeRetentionDays = 30
    var http = HTTPSettings()
    /// Seconds in which a stopping worker finishes what is in flight.
    var shutdownGraceSeconds = 25.0
    var log = LogSettings()
    /// To be told at the start.
    var warnings: [SettingsWarning] = []
}

struct DatabaseSettings: Sendable {
    /// A libpq connection URI. Empty where the command does not require the database and none is set.
    var url = Secret("")
    /// Connections.
    var poolSize = 4
    /// False for PgBouncer in transaction mode before 1.21.
    var usesPreparedStatements = true
}

struct RetrySettings: Sendable {
    /// 0.5 s, doubling to 300 s; doubtful answers over 600 s.
    var delay = RetryDelay()
    /// Seconds after which a retrying submission leaves memory for PostgreSQL.
    var parkAfterSeconds = 30.0

    /// No delay that these settings make is longer.
    var longestSeconds: Double { max(delay.maximumSeconds, delay.doubtSeconds, parkAfterSeconds) }
}

struct HTTPSettings: Sendable {
    var host = "127.0.0.1"
    /// 0 takes a free port.
    var port = 8080
}

struct LogSettings: Sendable {
    var level = Logger.Level.info
    var format = LogFormat.json
}
