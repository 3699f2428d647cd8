import TestSupport
import Testing

@testable import Pipeline

@Suite("A partition's life, simulated")
struct PartitionSimulationTests {
    @Test(
        "through crashes, revocations, zombies and redelivery, what is committed is decided, everything is decided in the end, each player's in order"
    )
    func randomSchedules() {
        simulate { seed in
            var simulation = PartitionSimulation(seed: seed, isDatabaseTroubled: false)
            try simulation.run()
        }
    }

    @Test(
        "through databases that are put back, and fail-overs that leave old sessions alive, everything is decided in the end"
    )
    func troubledDatabases() {
        simulate { seed in
            var simulation = PartitionSimulation(seed: seed, isDatabaseTroubled: true)
            try simulation.run()
        }
    }

    @Test(
        "through deaths by records and by operators, each record that kills is set aside after few of them, none began beside it, and everything ends"
    )
    func crashes() {
        simulate(schedules: 200) { seed in
            var simulation = CrashSimulation(seed: seed)
            try simulation.run()
        }
    }

    @Test(
        "through full windows and partitions that come and go, every record begins once, in order, and the window is never exceeded"
    )
    func intake() {
        simulate { seed in
            var simulation = IntakeSimulation(seed: seed)
            try simulation.run()
        }
    }

    private func simulate(schedules: Int = 1000, _ run: (UInt64) throws -> Void) {
        let seed = freshSeed()
        var random = SeededRandom(seed: seed)
        for number in 0..<schedules {
            do { try run(random.next()) } catch {
                Issue.record("\(error): schedule \(number) of seed \(seed) (repeat it by PIPELINE_SEED=\(seed))")
                return
            }
        }
    }
}
