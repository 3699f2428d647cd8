import Administration
import ArgumentParser
import Fulfillment
import Kafka
import Ledger
import NamesAndTimes
import Pipeline
import Postgres
import ReceiptdConfiguration

/// Moves the consumer group's offsets back, so that workers read records again.
struct RewindCommand: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "rewind",
        abstract: "Moves the consumer group's offsets back to a time. Workers read the later submissions again.",
        discussion: "Stop every worker of the consumer group first. receiptd grants no purchase twice.")

    static let requirements: Set<Settings.Requirement> = [.kafka, .database]

    @Option(help: ArgumentHelp("The time to read from (RFC 3339), such as 2026-11-21T03:00:00Z.", valueName: "time"))
    var to: Timestamp
    @Flag(
        help: """
            Give this after you restored the database to an earlier state. If Apple refunded a purchase since --to, a \
            worker grants the purchase and revokes it at once, because the lost rows may have granted it.
            """) var databaseRestored = false
    @Flag(help: "Print the new offsets, and change nothing.") var dryRun = false
    @OptionGroup var options: SettingsOptions

    func validate() throws {
        // A future time would move no offset, and the command would still succeed.
        guard to <= WallClock.now else {
            throw ValidationError("--to must be in the past, and \(to.rfc3339) is in the future.")
        }
    }

    func run(_ settings: Settings, in pool: PostgresPool) async throws {
        let topic = settings.kafka.submissionsTopic
        let consumer = KafkaClientProperties(settings: settings.kafka).consumer
        try await DeadLetterTopic.requireTopic(topic, consumer)
        let recorder = TroubleRecorder()
        let rewind = OffsetRewind(
            topic: topic, consumerProperties: consumer,
            checkpoints: PostgresCheckpoints(pool: pool, group: settings.kafka.groupID), log: recorder.note)
        do {
            let moves = try await rewind.plan(to: to)
            if dryRun { return print(moves.plan + "\nnothing was done") }
            // The command prints the moves after `apply`, so that it never prints a move that failed.
            try await rewind.apply(moves, restoredSince: databaseRestored ? to : nil)
            print(moves.plan + "\n" + moves.ending)
        } catch let error as KafkaError {
            throw CommandFailure(kafka: error, recorder)
        } catch let refusal as OffsetRewind.Refusal {
            throw CommandFailure(refusal)
        }
    }
}
