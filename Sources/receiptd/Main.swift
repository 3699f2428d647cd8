import ArgumentParser

@main
struct Main: CommandGroup {
    static let configuration = CommandConfiguration(
        commandName: "receiptd",
        abstract: "Turns App Store purchases into goods, exactly once.",
        version: WorkerRunner.version,
        subcommands: [
            RunCommand.self, MigrateCommand.self, CatalogCommand.self, CheckCommand.self, SubmitCommand.self,
            ParkedCommand.self, HoldsCommand.self, DeadLettersCommand.self, RewindCommand.self, GrantsCommand.self,
            InspectCommand.self, ReconcileCommand.self, DemoCommand.self,
        ])
}
