import Administration
import ArgumentParser
import BackOffice
import Fulfillment
import NamesAndTimes
import Postgres
import ReceiptdConfiguration

struct PlayersCommand: CommandGroup {
    static let configuration = CommandConfiguration(
        commandName: "players", abstract: "Data about players.", subcommands: [Erase.self])

    struct Erase: DatabaseCommand {
        static let configuration = CommandConfiguration(
            commandName: "erase",
            abstract: "Puts a random pseudonym in place of a player's id everywhere, for good.",
            discussion: """
                Deletes the player's devices, account tokens, stored submissions and receipts. Grants stay, so that no purchase \
                is granted again. Exits with 1 while anything of the player waits; --force rejects what waits. Close the \
                account in the game first. Workers may run meanwhile, and an interrupted run may be repeated. Asks on a \
                terminal; elsewhere it needs --yes.
                """)

        static let sessions = 4
        /// The time to wait for a worker to publish events that are on their way.
        private static let publishingSeconds = 30.0

        @Argument(help: "The player's id.") var playerID: String
        @Flag(help: "Reject the player's held and parked purchases, and those that Apple announced.") var force = false
        @OptionGroup var operation: OperatorOptions
        @OptionGroup var options: SettingsOptions

        func validate() throws {
            guard !playerID.isEmpty, !playerID.utf8.contains(0) else {
                throw ValidationError("A player id is not empty and holds no NUL.")
            }
            guard !PlayerID(playerID).isPseudonym else { throw ValidationError("This is a pseudonym already.") }
        }

        func run(_ settings: Settings, in pool: PostgresPool) async throws {
            let player = PlayerID(playerID)
            let erasure = PlayerErasure(of: player, in: pool)
            let waiting = try await erasure.waiting()
            let name = ShownText.quoted(playerID)
            let isWaiting = waiting.held + waiting.parked + waiting.announced > 0
            // Announced purchases are named if there are any.
            let announced = waiting.announced > 0 ? ", and \(waiting.announced) that Apple announced" : ""
            let ended = "\(waiting.held) held and \(waiting.parked) parked\(announced)"
            if !force, isWaiting {
                throw CommandFailure("\(ended) of \(name): end them first, or reject them with --force", code: 1)
            }
            let what = (isWaiting ? "reject \(ended), and " : "") + "erase \(name)"
            if operation.dryRun { return print("would \(what); nothing was done") }
            try operation.confirm(what)
            if force { try await PlayerRejection(of: player, in: pool).run(by: operation.name, at: WallClock.now) }
            try await awaitNothing(erasure)
            var random = SystemRandomNumberGenerator()
            let erased = try await erasure.run(pseudonym: Pseudonym.make(using: &random), by: operation.name) { table in
                printError("looking through \(table)")
            }
            guard erased.isComplete else {
                throw CommandFailure(
                    "somebody still submits for \(name): close the account in the game, and run this again",
                    code: 1)
            }
            print(Self.ending(erased.pseudonym, settings))
        }

        private func awaitNothing(_ erasure: PlayerErasure) async throws {
            let deadline = ContinuousClock.now + .seconds(Self.publishingSeconds)
            while true {
                let left = try await erasure.waiting()
                if left.isNothing { return }
                guard left.held + left.parked == 0, ContinuousClock.now < deadline else {
                    throw CommandFailure(
                        """
                        \(left.held) held, \(left.parked) parked and \(left.unpublished) events to be published stay: \
                        a running worker ends and publishes them; run this again then
                        """, code: 1)
                }
                try await Task.sleep(for: .milliseconds(200))
            }
        }

        private static func ending(_ pseudonym: PlayerID, _ settings: Settings) -> String {
            """
            erased; the pseudonym is \(pseudonym.text)
            What is not receiptd's is yours to clear, where it names the player:
              the topics of submissions, outcomes and dead letters, by their retention or a tombstone
              player-accounts: a null for each of the player's tokens, before anything else
              backups of the database, and logs
              the catalog, where its sandbox policy names the player
            """
        }
    }
}
