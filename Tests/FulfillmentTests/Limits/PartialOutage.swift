/// Apple's failures in a simulation: whom it answers, whom it does not, and how.
struct PartialOutage: Sendable {
    enum Pattern: Sendable {
        /// The fault is of submissions, whoever sent them.
        case receipts
        /// The fault is of players, whatever they send.
        case players
        /// The fault is of each ten seconds, for everybody.
        case bursts
        /// The fault is of some of twenty apps.
        case apps
        /// The fault is of so many players, one submission each, in the first seconds.
        case stuckPlayers
        /// The same, with nobody else's before them.
        case stuckPlayersFirst
    }

    enum Failure: Sendable {
        /// Apple fails at once, by a status that the receipt may have brought about.
        case status
        /// Apple fails at once, by a 503.
        case serverError
        /// Never; the client gives up.
        case hang
    }

    var pattern = Pattern.receipts
    var failure = Failure.status
    /// The share in a hundred; of stuck players, their number.
    var amount = 0
    /// The seconds that it lasts.
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

/// The figures of an outage.
struct OutageFigures {
    /// Submissions during the outage that Apple would answer.
    var healthy = 0
    var answeredInTime = 0
    /// Seconds from their arrival to Apple's answer.
    var median = 0.0
    var p99 = 0.0
    /// Requests that brought no answer, a second.
    var wasted = 0.0
    /// Seconds for which Apple counted as down.
    var secondsDown = 0.0
    /// Seconds after the outage's end until nothing is held back any more.
    var recovery = 0.0
    /// Seconds after it until 99 of 100 are answered that Apple had not answered before.
    var drained = 0.0
    var mostInMemory = 0
    /// Submissions that left memory for the database.
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
