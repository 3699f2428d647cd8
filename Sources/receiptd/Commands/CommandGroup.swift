import ArgumentParser

/// A command that only has others under it. Called by itself it prints its usage, as wrong usage: whoever starts the daemon
/// and forgets `run` must not take its end for a good one.
protocol CommandGroup: AsyncParsableCommand {}

extension CommandGroup {
    func run() async throws {
        printError(Main.helpMessage(for: Self.self))
        throw ExitCode(Confirmation.usage)
    }
}
