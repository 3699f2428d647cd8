import Fulfillment
import Kafka
import Logging
import NamesAndTimes
import Operations
import Synchronization

/// Logs mistakes in the traffic. Each kind of mistake gets one line a minute, with a count and one example.
final class TrafficWatch: Sendable {
    /// The seconds between two searches for misspelt members. Each search parses a record's JSON again.
    private static let secondsBetweenReadings = 1.0

    private struct State {
        var notes = MinuteNotes()
        var nextReading = 0.0
    }

    private let state = Mutex(State())
    private let metrics: ReceiptdMetrics
    private let logger: Logger

    init(metrics: ReceiptdMetrics, logger: Logger) {
        self.metrics = metrics
        self.logger = logger
    }

    /// Checks the record of a submission: whether its key is the player's id, and whether it has a misspelt member,
    /// which receiptd ignores.
    func took(_ submission: Submission, in record: ConsumerRecord) {
        let isKeyedByPlayer = record.key.map { $0.elementsEqual(submission.playerID.text.utf8) } ?? false
        if !isKeyedByPlayer {
            metrics.recordsWithOtherKey.increment()
            note("other key") { count in
                logger.warning(
                    "records are not keyed by player_id: a player's submissions may be decided out of order",
                    [.count: .stringConvertible(count), .submissionID: "\(submission.submissionID)"])
            }
        }
        let now = WallClock.monotonicSeconds
        let isDue = state.withLock { state in
            guard now >= state.nextReading else { return false }
            state.nextReading = now + Self.secondsBetweenReadings
            return true
        }
        guard isDue, let value = record.value else { return }
        for member in MisspeltMember.all(in: value) {
            note("misspelt \(member.known)") { _ in
                logger.warning(
                    "submissions have an unknown field whose name is close to a known one",
                    [
                        .detail: "\"\(member.name)\": did you mean \(member.known)?",
                        .submissionID: "\(submission.submissionID)",
                    ])
            }
        }
    }

    /// Counts and logs a submission that was rejected without a request to Apple, as most junk is.
    func refused(_ submission: Submission, for refusal: Refusal, by event: OutcomeEvent) {
        keep(event, of: submission.submissionID, refusal)
        note("refused \(refusal.reason.rawValue) \(refusal.cause.code)") { count in
            logger.info(
                "submissions were rejected without asking Apple",
                [
                    .reason: "\(refusal.reason.rawValue)", .detail: "\(refusal.cause.code)",
                    .count: .stringConvertible(count), .submissionID: "\(submission.submissionID)",
                ])
        }
    }

    /// - Parameter key: the record's key; nil if it has none.
    func buried(_ letter: DeadLetter, key: [UInt8]?, at position: RecordPosition) {
        if letter.sender == nil { keep(letter, key: key, at: position) }
        note("dead letter \(letter.reason.rawValue) \(letter.cause.code)") { count in
            logger.notice(
                "records became dead letters",
                [
                    .reason: "\(letter.reason.rawValue)", .detail: "\(letter.detail)",
                    .count: .stringConvertible(count), .topic: "\(position.topic)",
                    .partition: .stringConvertible(position.partition), .offset: .stringConvertible(position.offset),
                ])
        }
    }

    /// Keeps the rejection that a dead letter's sender got.
    func answered(_ sender: DeadLetter.Sender, _ cause: Cause, by event: OutcomeEvent) {
        keep(event, of: sender.submissionID, Refusal(.malformedSubmission, cause))
    }

    /// Keeps the rejection in memory for support, until PostgreSQL has stored it.
    private func keep(_ event: OutcomeEvent, of submission: Identifier, _ refusal: Refusal) {
        let (reason, player) = (refusal.reason.rawValue, event.playerID.text)
        metrics.localRefusals.note(reason: reason, player: player) {
            LocalRefusal(
                eventID: event.eventID.description, submissionID: submission.text, playerID: player,
                bundleID: event.bundleID?.text, reason: reason, detailCode: refusal.cause.code,
                detail: refusal.cause.sentence, occurredAt: event.occurredAt.rfc3339)
        }
    }

    /// Keeps a dead letter whose sender is unknown. Support can find it by its position, or by its key, which is the
    /// player's id if the game server keeps the contract.
    private func keep(_ letter: DeadLetter, key: [UInt8]?, at position: RecordPosition) {
        let key = key.flatMap { String(validating: $0, as: UTF8.self) } ?? ""
        let player = key.unicodeScalars.count <= SubmissionLimits.maximumNameScalars ? key : ""
        let place = Identifier("\(position.topic)/\(position.partition)/\(position.offset)")
        let sender = DeadLetter.Sender(submissionID: place, playerID: PlayerID(player), bundleID: nil, orderID: nil)
        metrics.localRefusals.note(reason: letter.reason.rawValue, player: player) {
            LocalRefusal(
                eventID: OutcomeEvent.eventID(.rejected, submission: sender.identity, position: position).description,
                submissionID: place.text, playerID: player, bundleID: nil, reason: letter.reason.rawValue,
                detailCode: letter.cause.code, detail: letter.cause.sentence, occurredAt: position.timestamp.rfc3339)
        }
    }

    private func note(_ kind: String, _ log: (Int) -> Void) {
        let line = state.withLock { $0.notes.note(kind, now: WallClock.monotonicSeconds) }
        if let line { log(line.count) }
    }
}
