import Administration
import ArgumentParser
import Foundation
import Kafka
import NamesAndTimes
import ReceiptdConfiguration

/// Prints the events that the inventory service gets.
struct OutcomesCommand: OperatorCommand {
    static let configuration = CommandConfiguration(
        commandName: "outcomes", abstract: "Prints the events of the outcomes topic, one JSON object a line.",
        discussion: "Reads from the beginning of the topic to its end, without joining a consumer group.")

    static let requirements: Set<Settings.Requirement> = [.kafka]

    @Flag(help: "Keep printing new events, until Ctrl-C.") var follow = false
    @Option(help: "Only events of this player.") var player: String?
    @Option(
        help: ArgumentHelp("Only events since this time (RFC 3339), such as 2026-11-21T03:00:00Z.", valueName: "time"))
    var since: Timestamp?
    @OptionGroup var options: SettingsOptions

    func run(_ settings: Settings) async throws {
        let start = since.map { OutcomeTopic.Start.time($0) } ?? .beginning
        // The record key of an event is the player id.
        let key = player.map { Array($0.utf8) }
        try await OutcomeTopic(settings: settings.kafka).read(from: start, follow: follow) { step in
            if case .record(let record) = step, let value = record.value, key == nil || record.key == key {
                printLine(value)
            }
            return true
        }
    }
}

/// Prints a line at once, without a buffer.
func printLine(_ bytes: [UInt8]) {
    FileHandle.standardOutput.write(Data(bytes + [UInt8(ascii: "\n")]))
}
