import Testing

@Suite("A partition's life, simulated")
struct PartitionSimulationTests {
    @Test(
        "through crashes, revocations, zombies and redelivery, what is committed is decided, everything is decided in the end, each player's in order"
    )
    func randomSchedules() {
        let seed = freshSeed()
        var random = SeededRandom(seed: seed)
        for number in 0..<300 {
            var simulation = PartitionSimulation(seed: random.next())
            do { try simulation.run() } catch {
                Issue.record("\(error): schedule \(number) of seed \(seed) (repeat it by PIPELINE_SEED=\(seed))")
                return
            }
        }
    }
}
