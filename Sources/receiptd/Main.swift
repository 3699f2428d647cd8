import ArgumentParser

@main
struct Main: CommandGroup {
    static let configuration = CommandConfiguration(
        commandName: "receiptd",
        abstract: "Verifies App Store purchases and grants each at most once.",
        version: Version.text,
        subcommands: [
            RunCommand.self, IntakeCommand.self, ConsoleCommand.self, MigrateCommand.self, CatalogCommand.self,
            CheckCommand.self,
            SubmitCommand.self, OutcomesCommand.self, ProofCommand.self,
            ParkedCommand.self, HoldsCommand.self, UnclaimedCommand.self, SubscriptionsCommand.self,
            DeadLettersCommand.self, RewindCommand.self,
            GrantsCommand.self, PlayersCommand.self,
            InspectCommand.self, ReconcileCommand.self, DemoCommand.self,
        ])
}
