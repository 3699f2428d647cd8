import ArgumentParser
import Console
import ReceiptdConfiguration

extension ConsoleCommand {
    struct Password: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "password",
            abstract: "Reads a password, and prints the hash of it that CONSOLE_USERS wants.",
            discussion: """
                On a terminal it asks twice, and shows nothing that is typed; elsewhere it reads the first line of standard \
                input. A user's line is then name:role:hash.
                """)

        func run() async throws { try await reporting { print(try PasswordPrompt.hash().text) } }
    }
}
