import TestSupport
import Testing

@testable import Pipeline

@Suite("Simulated life of a partition")
struct PartitionSimulationTests {
    @Test(
        "despite simulated crashes and zombies every record is decided in its player's order, and committed only then"
    )
    func randomSchedules() {
        simulate { seed in
            var simulation = PartitionSimulation(seed: seed, isDatabaseTroubled: false)
            try simulation.run()
        }
    }

    @Test("simulated database restores and fail-overs with old sessions alive leave every record decided")
    func troubledDatabases() {
        simulate { seed in
            var simulation = PartitionSimulation(seed: seed, isDatabaseTroubled: true)
            try simulation.run()
        }
    }

    @Test(
        "simulated deaths let each killing record be isolated and set aside after few deaths, and every schedule ends"
    )
    func crashes() {
        simulate(schedules: 200) { seed in
            var simulation = CrashSimulation(seed: seed)
            try simulation.run()
        }
    }

    @Test("simulated intake begins every record once, in order, and never exceeds the window")
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
