import TestSupport
import Testing

@testable import Pipeline

@Suite("Simulations of a partition under crashes, fail-overs and full windows")
struct PartitionSimulationTests {
    @Test("with simulated crashes and zombie workers, every record is decided in its player's order before its commit")
    func randomSchedules() async {
        await simulate { seed in
            var simulation = PartitionSimulation(seed: seed, isDatabaseTroubled: false)
            try simulation.run()
        }
    }

    @Test(
        "despite simulated database restores and fail-overs that old sessions survive, every record is finally decided")
    func troubledDatabases() async {
        await simulate { seed in
            var simulation = PartitionSimulation(seed: seed, isDatabaseTroubled: true)
            try simulation.run()
        }
    }

    @Test(
        "in simulated crashes every record is finished, and a record that kills workers is set aside after few deaths"
    )
    func crashes() async {
        await simulate(schedules: 200) { seed in
            var simulation = CrashSimulation(seed: seed)
            try simulation.run()
        }
    }

    @Test("in simulated intake every record begins once, in order, and the records never exceed the window")
    func intake() async {
        await simulate { seed in
            var simulation = IntakeSimulation(seed: seed)
            try simulation.run()
        }
    }

    /// Runs the schedules, and yields after each. Otherwise the simulations would take all threads of the cooperative
    /// pool, and a test that waits could reach its limit.
    private func simulate(schedules: Int = 1000, _ run: (UInt64) throws -> Void) async {
        let seed = freshSeed()
        var random = SeededRandom(seed: seed)
        for number in 0..<schedules {
            await Task.yield()
            do { try run(random.next()) } catch {
                Issue.record("\(error): schedule \(number) of seed \(seed) (repeat it by PIPELINE_SEED=\(seed))")
                return
            }
        }
    }
}
