import ArgumentParser
import Console
import ReceiptdConfiguration

extension ConsoleCommand {
    struct Password: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "password",
            abstract: "Reads a password, and prints its hash for CONSOLE_USERS.",
            discussion: """
                On a terminal it asks twice, without an echo; elsewhere it reads the first line of standard input. A user's line \
                is name:role:hash.
                """)

        func run() async throws { try await reporting { print(try PasswordPrompt.hash().text) } }
    }
}
