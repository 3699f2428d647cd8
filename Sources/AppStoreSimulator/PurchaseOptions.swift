import AppStoreSimulation
import ArgumentParser

/// The options that apply to all purchases of a receipt.
struct PurchaseOptions: ParsableArguments {
    @Option(help: "Units of each purchase.")
    var quantity = 1

    @Option(help: "non-consumable, consumable, non-renewing or auto-renewable.")
    var kind = KindArgument.consumable

    @Option(help: "Milliseconds since 1970; now by default.")
    var purchaseDateMs: Int64?

    @Option(help: "Milliseconds since 1970.")
    var expiresDateMs: Int64?

    @Option(help: "Milliseconds since 1970.")
    var cancellationDateMs: Int64?

    @Option(help: "The app account token.")
    var accountToken: String?

    @Flag(help: "Mark the purchases as family shared.")
    var familyShared = false

    enum KindArgument: String, ExpressibleByArgument, CaseIterable {
        case nonConsumable = "non-consumable"
        case consumable
        case nonRenewing = "non-renewing"
        case autoRenewable = "auto-renewable"

        var kind: SimulatedPurchase.Kind {
            switch self {
            case .nonConsumable: .nonConsumable
            case .consumable: .consumable
            case .nonRenewing: .nonRenewingSubscription
            case .autoRenewable: .autoRenewableSubscription
            }
        }
    }
}
