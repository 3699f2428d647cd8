import ArgumentParser

@main
struct Main: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "AppStoreSimulator",
        abstract:
            "A simulated App Store: answers verifyReceipt and the App Store Server API as Apple does, and fails as it does.",
        subcommands: [Serve.self, Receipt.self, Transaction.self, Notification.self],
        defaultSubcommand: Serve.self)
}
