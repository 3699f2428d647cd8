import ArgumentParser

@main
struct Main: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "AppStoreSimulator",
        abstract:
            "Simulates the App Store: serves verifyReceipt and the App Store Server API, and fails as Apple does.",
        subcommands: [Serve.self, Receipt.self, Transaction.self, Notification.self],
        defaultSubcommand: Serve.self)
}
