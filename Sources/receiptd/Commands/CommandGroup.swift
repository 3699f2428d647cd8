import ArgumentParser

/// A command that only has subcommands. Without a subcommand it prints its usage and fails. Otherwise a script that
/// forgets `run` would seem to succeed.
protocol CommandGroup: AsyncParsableCommand {}

extension CommandGroup {
    func run() async throws {
        printError(Main.helpMessage(for: Self.self))
        throw ExitCode(Confirmation.usage)
    }
}
