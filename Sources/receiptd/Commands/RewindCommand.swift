import ArgumentParser
import Clocks
import Fulfillment
import Ledger

/// Lets the group take again what it has taken.
struct RewindCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rewind",
        abstract: "Lets the group take every submission since a time again. Nothing is granted twice by it.",
        discussion: "Stop every worker of the group first.")

    @Option(help: ArgumentHelp("RFC 3339, such as 2026-11-21T03:00:00Z.", valueName: "time")) var to: String
    @Flag(help: "Say what would be done, and do nothing.") var dryRun = false
    @OptionGroup var options: SettingsOptions

    func validate() throws {
        guard let time = Timestamp(rfc3339: to) else {
            throw ValidationError("--to takes a time such as 2026-11-21T03:00:00Z.")
        }
        // It would move nothing, and look as if it had.
        guard time <= WallClock.now else {
            throw ValidationError("--to is a time that has passed; \(to) is yet to come.")
        }
    }

    func run() async throws {
        try await reporting {
            let settings = try options.read(requiring: [.kafka, .database])
            guard let time = Timestamp(rfc3339: to) else { return }
            try await withDatabase(settings) { pool in
                try await requireSchema(pool)
                let rewind = OffsetRewind(
                    kafka: settings.kafka, checkpoints: PostgresCheckpoints(pool: pool, group: settings.kafka.groupID))
                let moves = try await rewind.plan(to: time)
                print(moves.map(\.description).joined(separator: "\n"))
                if dryRun { return print("nothing was done") }
                try await rewind.apply(moves)
                let count = moves.reduce(0) { $0 + $1.count }
                print(count == 0 ? "nothing changes" : "\(count) records are taken again once workers run")
            }
        }
    }
}
