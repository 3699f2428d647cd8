import AppStoreSimulation
import ArgumentParser

/// Simulated players.
struct LifeOptions: ParsableArguments {
    @Flag(
        help: """
            Simulate players: they buy, renew, lapse, fall into grace, change plans, ask for refunds and get \
            them. What happens is printed, and told as Apple tells it; in the end everything stays as it is.
            """)
    var life = false

    @Option(help: "How many players there are.")
    var players = 40

    @Option(help: "How many of their days to simulate.")
    var days = 30

    @Option(help: "How much faster than real time to simulate; 43200 is a month in a minute.")
    var speed = 1.0

    @Option(help: "The bundle id of the app that they play; its products' ids begin with it.")
    var bundleID = "com.example.castle"

    @Option(help: "The app's Apple id.")
    var appAppleID: Int64 = 1_450_000_001

    @Flag(help: "Simulate them in the sandbox.")
    var sandbox = false

    @Option(help: "The file for the final state, as JSON. Default: standard output.")
    var summary: String?

    @Option(help: "The file for what clients would submit, one JSON object a line, as `receiptd submit` reads it.")
    var submissions: String?

    @OptionGroup
    var delivery: DeliveryOptions

    func validate() throws {
        guard players > 0, days > 0, (0.001...1_000_000).contains(speed) else {
            throw ValidationError("--players, --days and --speed are above 0, and --speed is at most 1000000")
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

    /// The length of a player's day.
    var dayMilliseconds: Int64 { max(1, Int64(86_400_000 / speed)) }
}

/// The way of what Apple tells of the players.
struct DeliveryOptions: ParsableArguments {
    @Option(help: "Post notifications to this plain HTTP address. Default: they are only in the notification history.")
    var notify: String?

    @Option(help: "The share of notifications, 0 to 1, to lose.")
    var lost = 0.0

    @Option(help: "The share of notifications, 0 to 1, to post twice.")
    var duplicated = 0.0

    @Option(help: "The share of notifications, 0 to 1, to post behind later ones.")
    var late = 0.0

    func validate() throws {
        guard [lost, duplicated, late].allSatisfy({ (0...1).contains($0) }) else {
            throw ValidationError("--lost, --duplicated and --late are shares between 0 and 1")
        }
    }

    /// Nil where the address is not of plain HTTP.
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
