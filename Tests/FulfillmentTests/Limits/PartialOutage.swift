/// Apple's failures in a simulation: the requests that Apple fails, and the way in which Apple fails.
struct PartialOutage: Sendable {
    enum Pattern: Sendable {
        /// Apple fails for a share of submissions, of any player.
        case receipts
        /// Apple fails for all submissions of a share of players.
        case players
        /// Apple fails for all submissions in a share of each ten seconds.
        case bursts
        /// Apple fails for a share of twenty apps.
        case apps
        /// Apple fails for one submission each of `amount` players, in the first 30 seconds of the outage.
        case stuckPlayers
        /// Apple fails as in `stuckPlayers`, and the outage begins with these submissions alone.
        case stuckPlayersFirst
    }

    enum Failure: Sendable {
        /// Apple fails immediately, with a status that the receipt may have caused.
        case status
        /// Apple fails immediately, with a 503.
        case serverError
        /// Apple never answers, and the client gives up.
        case hang
    }

    var pattern = Pattern.receipts
    var failure = Failure.status
    /// The share in percent; for stuck players, their number.
    var amount = 0
    /// The length of the outage in seconds.
    var seconds = 120.0
    var seed: UInt64 = 1
    var maximumInFlight = 2000

    var name: String {
        let failing =
            switch pattern {
            case .receipts: "\(amount) % of submissions"
            case .players: "\(amount) % of players"
            case .bursts: "all, \(amount) % of the time"
            case .apps: "\(amount) % of apps"
            case .stuckPlayers: "one receipt each of \(amount) players"
            case .stuckPlayersFirst: "one receipt each of \(amount) players, before all others"
            }
        return switch failure {
        case .status: failing
        case .serverError: failing + ", 503"
        case .hang: failing + ", by silence"
        }
    }
}

/// The measured figures of a simulated outage.
struct OutageFigures {
    /// The number of submissions during the outage that Apple would answer.
    var healthy = 0
    var answeredInTime = 0
    /// The seconds from the arrival of a healthy submission to Apple's answer: the median, then the 99th percentile.
    var median = 0.0
    var p99 = 0.0
    /// The requests per second without an answer of Apple.
    var wasted = 0.0
    /// The seconds in which Apple counted as down.
    var secondsDown = 0.0
    /// The seconds from the outage's end until the worker holds no request back.
    var recovery = 0.0
    /// The seconds from the outage's end until Apple has answered 99 of 100 submissions for which Apple failed before.
    var drained = 0.0
    var mostInMemory = 0
    /// The number of submissions that the worker parked.
    var parked = 0

    static let tableHead = """
        | what fails | healthy answered in time | median, s | p99, s | Apple counted as down, s | requests in vain, 1/s \
        | recovery found after, s | others answered after, s | most in memory |
        | --- | --- | --- | --- | --- | --- | --- | --- | --- |
        """

    func row(_ name: String) -> String {
        let values = [median, p99, secondsDown, wasted, recovery, drained].map(Self.shown)
        return "| \(name) | \(answeredInTime) of \(healthy) | \(values.joined(separator: " | ")) | \(mostInMemory) |"
    }

    private static func shown(_ value: Double) -> String {
        guard value.isFinite else { return "never" }
        let hundredths = Int((value * 100).rounded())
        let rest = hundredths % 100
        return "\(hundredths / 100).\(rest < 10 ? "0" : "")\(rest)"
    }
}
