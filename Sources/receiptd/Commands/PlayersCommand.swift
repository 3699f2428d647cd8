import Administration
import ArgumentParser
import BackOffice
import Fulfillment
import NamesAndTimes
import Postgres
import ReceiptdConfiguration

struct PlayersCommand: CommandGroup {
    static let configuration = CommandConfiguration(
        commandName: "players", abstract: "Erases a player's data.", subcommands: [Erase.self])

    struct Erase: DatabaseCommand {
        static let configuration = CommandConfiguration(
            commandName: "erase",
            abstract: "Replaces a player's id by a random pseudonym in every table, for good.",
            discussion: """
                Close the account in the game first. The command deletes the player's devices, account tokens, stored \
                submissions and receipts. Grants stay, so that no purchase is granted again. While purchases of the player \
                are held, parked or announced, the command exits with 1; --force rejects them. Workers may run meanwhile. \
                You may repeat an interrupted run. On a terminal, the command asks first. Without a terminal, it needs \
                --yes.
                """)

        static let sessions = 4
        /// The seconds that the command waits until a worker has published the player's pending events.
        private static let publishingSeconds = 30.0

        @Argument(help: "The player's id.") var playerID: String
        @Flag(help: "Reject the player's held, parked and announced purchases.") var force = false
        @OptionGroup var operation: OperatorOptions
        @OptionGroup var options: SettingsOptions

        func validate() throws {
            guard !playerID.isEmpty, !playerID.utf8.contains(0) else {
                throw ValidationError("A player id must not be empty or contain NUL.")
            }
            guard !PlayerID(playerID).isPseudonym else { throw ValidationError("The id is a pseudonym already.") }
        }

        func run(_ settings: Settings, in pool: PostgresPool) async throws {
            let player = PlayerID(playerID)
            let erasure = PlayerErasure(of: player, in: pool)
            let waiting = try await erasure.waiting()
            let name = ShownText.quoted(playerID)
            let isWaiting = waiting.held + waiting.parked + waiting.announced > 0
            let ended = ErasureText.waiting(waiting)
            if !force, isWaiting {
                throw CommandFailure("\(name) has \(ended): decide them first, or reject them with --force", code: 1)
            }
            let what = (isWaiting ? "reject \(ended), and " : "") + "erase \(name)"
            if operation.dryRun { return print("would \(what); nothing was done") }
            try operation.confirm(what)
            if force { try await PlayerRejection(of: player, in: pool).run(by: operation.name, at: WallClock.now) }
            try await awaitNothing(erasure)
            var random = SystemRandomNumberGenerator()
            let erased = try await erasure.run(pseudonym: Pseudonym.make(using: &random), by: operation.name) { table in
                printError("searching \(table)")
            }
            guard erased.isComplete else {
                throw CommandFailure(
                    "submissions for \(name) still arrive: close the account in the game, and run the command again",
                    code: 1)
            }
            print(ErasureText.erased(as: erased.pseudonym))
        }

        private func awaitNothing(_ erasure: PlayerErasure) async throws {
            let deadline = ContinuousClock.now + .seconds(Self.publishingSeconds)
            while true {
                let left = try await erasure.waiting()
                if left.isNothing { return }
                guard left.held + left.parked == 0, ContinuousClock.now < deadline else {
                    throw CommandFailure(ErasureText.left(left), code: 1)
                }
                try await Task.sleep(for: .milliseconds(200))
            }
        }
    }
}
