import ArgumentParser
import Console
import ReceiptdConfiguration

extension ConsoleCommand {
    struct Password: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "password",
            abstract: "Reads a password, and prints its hash for CONSOLE_USERS.",
            discussion: """
                On a terminal, the command asks for the password twice and does not show it. Without a terminal, it reads \
                the first line of standard input. CONSOLE_USERS lists each user as name:role:hash.
                """)

        func run() async throws { try await reporting { print(try PasswordPrompt.hash().text) } }
    }
}
