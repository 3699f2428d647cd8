import AppStoreSimulation
import ArgumentParser

/// The options of simulated players.
struct LifeOptions: ParsableArguments {
    @Flag(
        help: """
            Simulate players who buy, renew, lapse, enter grace periods, change plans and get refunds. The simulator \
            prints each event and notifies as Apple does. After the last day it answers from the final state.
            """)
    var life = false

    @Option(help: "The number of players.")
    var players = 40

    @Option(help: "The number of days to simulate.")
    var days = 30

    @Option(help: "The speed as a multiple of real time. At 43200, a month passes in a minute.")
    var speed = 1.0

    @Option(help: "The app's bundle id. The ids of its products begin with it.")
    var bundleID = "com.example.castle"

    @Option(help: "The app's Apple id.")
    var appAppleID: Int64 = 1_450_000_001

    @Flag(help: "Simulate the players in the sandbox.")
    var sandbox = false

    @Option(help: "The file for the final state, as JSON. Default: standard output.")
    var summary: String?

    @Option(help: "The file for the clients' submissions, one JSON object a line, as `receiptd submit` reads them.")
    var submissions: String?

    @OptionGroup
    var delivery: DeliveryOptions

    func validate() throws {
        guard players > 0, days > 0, (0.001...1_000_000).contains(speed) else {
            throw ValidationError("--players, --days and --speed must be above 0, and --speed at most 1000000")
        }
    }

    func plan(seed: UInt64) -> SimulatedLife.Plan {
        var plan = SimulatedLife.Plan(bundleID: bundleID, appAppleID: appAppleID)
        plan.players = players
        plan.days = days
        plan.dayMilliseconds = dayMilliseconds
        plan.seed = seed
        plan.environment = sandbox ? .sandbox : .production
        return plan
    }

    /// The length of one simulated day in real milliseconds.
    var dayMilliseconds: Int64 { max(1, Int64(86_400_000 / speed)) }
}

/// The options for posting notifications.
struct DeliveryOptions: ParsableArguments {
    @Option(help: "Post notifications to this plain HTTP address. Default: only the notification history has them.")
    var notify: String?

    @Option(help: "The share of notifications, 0 to 1, to lose.")
    var lost = 0.0

    @Option(help: "The share of notifications, 0 to 1, to post twice.")
    var duplicated = 0.0

    @Option(help: "The share of notifications, 0 to 1, to post late, so that newer ones overtake them.")
    var late = 0.0

    func validate() throws {
        guard [lost, duplicated, late].allSatisfy({ (0...1).contains($0) }) else {
            throw ValidationError("--lost, --duplicated and --late must be 0 to 1")
        }
    }

    /// Returns nil if the address is not plain HTTP.
    func make(_ life: LifeOptions, seed: UInt64) -> NotificationDelivery? {
        var accidents = NotificationDelivery.Accidents()
        accidents.lost = lost
        accidents.duplicated = duplicated
        accidents.late = late
        accidents.lateMilliseconds = life.dayMilliseconds
        accidents.seed = seed
        return NotificationDelivery(to: notify, accidents)
    }
}
