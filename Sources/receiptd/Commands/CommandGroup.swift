import ArgumentParser

/// A command that only has subcommands. Without a subcommand it prints its usage and ends as wrong usage: a caller who
/// forgets `run` must not take the end for success.
protocol CommandGroup: AsyncParsableCommand {}

extension CommandGroup {
    func run() async throws {
        printError(Main.helpMessage(for: Self.self))
        throw ExitCode(Confirmation.usage)
    }
}
